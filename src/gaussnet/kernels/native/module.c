/* The Python module: looks at the arguments, lets go of the interpreter, calls a kernel.
 *
 * Arrays come as buffers. Callers are trusted to give sensible numbers, but no argument can
 * make a kernel touch memory that is not its own.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "kernels.h"

#define MOST_BUFFERS 24

static const Kernels *kernels = &kernels_baseline;

/* The buffers that a call holds. */
typedef struct {
    Py_buffer views[MOST_BUFFERS];
    int count;
} Held;

static void release(Held *held)
{
    while (held->count > 0)
        PyBuffer_Release(&held->views[--held->count]);
}

/* Hold an array of one of the types named in `formats`; NULL with an error set if it is not. */
static Py_buffer *hold(Held *held, PyObject *array, const char *formats, int dimensions, int flags)
{
    Py_buffer *view = &held->views[held->count];
    if (PyObject_GetBuffer(array, view, flags | PyBUF_FORMAT) < 0)
        return NULL;
    held->count++;
    const char *format = view->format ? view->format : "B";
    if (view->ndim != dimensions || strlen(format) != 1 || !strchr(formats, format[0]) ||
        view->itemsize != (format[0] == 'f' ? 4 : strchr("?B", format[0]) ? 1 : 8)) {
        PyErr_Format(PyExc_TypeError, "expected %d dimensions of type %s, got %d of type %s",
                     dimensions, formats, view->ndim, format);
        return NULL;
    }
    return view;
}

/* A one-dimensional array of `count` values, of any number if `count` is -1. */
static void *hold_values(Held *held, PyObject *array, const char *formats, Py_ssize_t count,
                         int writable, Py_ssize_t *found)
{
    int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    Py_buffer *view = hold(held, array, formats, 1, flags);
    if (!view)
        return NULL;
    if (count >= 0 && view->shape[0] != count) {
        PyErr_Format(PyExc_ValueError, "expected %zd values, got %zd", count, view->shape[0]);
        return NULL;
    }
    if (found)
        *found = view->shape[0];
    return view->buf;
}

static double *hold_out(Held *held, PyObject *array, Py_ssize_t count)
{
    return hold_values(held, array, "d", count, 1, NULL);
}

static int hold_matrix(Held *held, PyObject *array, const char *formats, int writable, Matrix *x)
{
    Py_buffer *view =
        hold(held, array, formats, 2, PyBUF_STRIDES | (writable ? PyBUF_WRITABLE : 0));
    if (!view)
        return -1;
    x->data = view->buf;
    x->rows = view->shape[0];
    x->columns = view->shape[1];
    x->row_stride = view->strides[0];
    x->column_stride = view->strides[1];
    x->single = view->itemsize == 4;
    return 0;
}

static int is_within(const int64_t *values, Py_ssize_t count, Py_ssize_t limit)
{
    for (Py_ssize_t k = 0; k < count; k++)
        if (values[k] < 0 || values[k] >= limit)
            return 0;
    return 1;
}

/* Families as the tuple (children, offsets, parents), of columns below `columns`. */
static int hold_families(Held *held, PyObject *tuple, Py_ssize_t columns, Families *families)
{
    PyObject *children, *offsets, *parents;
    Py_ssize_t count, edges;
    if (!PyArg_ParseTuple(tuple, "OOO", &children, &offsets, &parents))
        return -1;
    families->children = hold_values(held, children, "lq", -1, 0, &count);
    if (!families->children)
        return -1;
    families->count = count;
    families->offsets = hold_values(held, offsets, "lq", count + 1, 0, NULL);
    if (!families->offsets)
        return -1;
    families->parents = hold_values(held, parents, "lq", -1, 0, &edges);
    if (!families->parents)
        return -1;
    int sound = families->offsets[0] == 0 && families->offsets[count] == edges &&
                is_within(families->children, count, columns) &&
                is_within(families->parents, edges, columns);
    for (Py_ssize_t f = 0; f < count; f++)
        sound = sound && families->offsets[f] <= families->offsets[f + 1];
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "families point outside the columns or each other");
    return sound ? 0 : -1;
}

static Py_ssize_t edges_of(const Families *families)
{
    return (Py_ssize_t)families->offsets[families->count];
}

static Py_ssize_t products_of(const Families *families)
{
    Py_ssize_t products = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        products += triangle_length(family_size(families, f) + 1);
    return products;
}

static Py_ssize_t solutions_of(const Families *families, const Windows *windows, ptrdiff_t rows)
{
    Py_ssize_t solutions = 0;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        if (size == 0)
            continue;
        WindowRange range = window_range(windows->start, windows->stop, rows,
                                         window_height(windows, size), windows->sliding);
        solutions += size * (range.last - range.first);
    }
    return solutions;
}

/* Give back what was held; None, or the error that is set or that `status` stands for. */
static PyObject *finish(Held *held, int status)
{
    release(held);
    if (PyErr_Occurred())
        return NULL;
    if (status < 0)
        return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyObject *call_all_finite(PyObject *self, PyObject *x_array)
{
    (void)self;
    Held held = {.count = 0};
    Matrix x;
    int finite = 0;
    int sound = hold_matrix(&held, x_array, "df", 0, &x) == 0;
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        finite = kernels->all_finite(&x);
        Py_END_ALLOW_THREADS
    }
    release(&held);
    return sound ? PyBool_FromLong(finite) : NULL;
}

static PyObject *call_copy_finite(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *from_array, *to_array;
    Py_ssize_t count;
    double *from, *to;
    int finite = 0;
    if (!PyArg_ParseTuple(arguments, "OO", &from_array, &to_array))
        return NULL;
    int sound = (from = hold_values(&held, from_array, "d", -1, 0, &count)) != NULL &&
                (to = hold_out(&held, to_array, count)) != NULL;
    if (sound) {
        Py_BEGIN_ALLOW_THREADS
        finite = kernels->copy_finite(from, count, to);
        Py_END_ALLOW_THREADS
    }
    release(&held);
    return sound ? PyBool_FromLong(finite) : NULL;
}

static PyObject *call_family_moments(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuple, *means_array, *products_array;
    Matrix x;
    Families families;
    double *means, *products;
    int centre, status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!pOO", &x_array, &PyTuple_Type, &tuple, &centre,
                          &means_array, &products_array))
        return NULL;
    if (hold_matrix(&held, x_array, "df", 0, &x) == 0 &&
        hold_families(&held, tuple, x.columns, &families) == 0 &&
        (means = hold_out(&held, means_array, edges_of(&families) + families.count)) &&
        (products = hold_out(&held, products_array, products_of(&families)))) {
        Py_BEGIN_ALLOW_THREADS
        memset(products, 0, (size_t)products_of(&families) * sizeof(double));
        status = kernels->family_moments(&x, &families, centre, means, products);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

static PyObject *call_solve_moments(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *tuple, *products_array, *coefficients_array, *squares_array, *pivots_array;
    Families families;
    const double *products;
    double *coefficients, *squares, *pivots;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyTuple_Type, &tuple, &products_array,
                          &coefficients_array, &squares_array, &pivots_array))
        return NULL;
    if (hold_families(&held, tuple, PY_SSIZE_T_MAX, &families) == 0 &&
        (products = hold_values(&held, products_array, "d", products_of(&families), 0, NULL)) &&
        (coefficients = hold_out(&held, coefficients_array, edges_of(&families))) &&
        (squares = hold_out(&held, squares_array, families.count)) &&
        (pivots = hold_out(&held, pivots_array, families.count))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->solve_moments(&families, products, coefficients, squares, pivots);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

/* Arguments page, families, start, stop, extra_rows, sliding, centre, solutions. */
static PyObject *call_windows(PyObject *arguments,
                              int (*kernel)(const Matrix *, const Families *, const Windows *,
                                            double *))
{
    Held held = {.count = 0};
    PyObject *page_array, *tuple, *solutions_array;
    Matrix page;
    Families families;
    Windows windows;
    double *solutions;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!nnnppO", &page_array, &PyTuple_Type, &tuple,
                          &windows.start, &windows.stop, &windows.extra_rows, &windows.sliding,
                          &windows.centre, &solutions_array))
        return NULL;
    if (windows.start < 0 || windows.stop < 0 || windows.extra_rows < 0) {
        PyErr_SetString(PyExc_ValueError, "start, stop and extra_rows are at least 0");
        return NULL;
    }
    if (hold_matrix(&held, page_array, "df", 0, &page) == 0 &&
        hold_families(&held, tuple, page.columns, &families) == 0 &&
        (solutions = hold_out(&held, solutions_array,
                              solutions_of(&families, &windows, page.rows)))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernel(&page, &families, &windows, solutions);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

static PyObject *call_batch_solutions(PyObject *self, PyObject *arguments)
{
    (void)self;
    return call_windows(arguments, kernels->batch_solutions);
}

static PyObject *call_square_solutions(PyObject *self, PyObject *arguments)
{
    (void)self;
    return call_windows(arguments, kernels->square_solutions);
}

static PyObject *call_row_medians(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *values_array, *medians_array, *used_array;
    Matrix values;
    double *medians;
    int64_t *used;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OOO", &values_array, &medians_array, &used_array))
        return NULL;
    if (hold_matrix(&held, values_array, "d", 0, &values) == 0 &&
        (medians = hold_out(&held, medians_array, values.rows)) &&
        (used = hold_values(&held, used_array, "lq", values.rows, 1, NULL))) {
        if (values.columns > 1 && values.column_stride != sizeof(double)) {
            PyErr_SetString(PyExc_ValueError, "the values of a row must follow each other");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->row_medians(&values, medians, used);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* The parts of rows that a call holds. */
typedef struct {
    Held *held;       /* one buffer each */
    const double **data;
    ptrdiff_t *lengths;
    Py_ssize_t count;
} HeldParts;

static void release_parts(HeldParts *own)
{
    for (Py_ssize_t k = 0; k < own->count; k++)
        release(&own->held[k]);
    PyMem_Free(own->held);
    PyMem_Free((void *)own->data);
    PyMem_Free(own->lengths);
}

/* A list of contiguous float64 arrays (rows, any). */
static int hold_parts(HeldParts *own, PyObject *list, Parts *parts)
{
    own->count = PyList_Size(list);
    own->held = PyMem_Calloc((size_t)own->count + 1, sizeof *own->held);
    own->data = PyMem_Calloc((size_t)own->count + 1, sizeof *own->data);
    own->lengths = PyMem_Calloc((size_t)own->count + 1, sizeof *own->lengths);
    *parts = (Parts){own->count, 0, 0, own->data, own->lengths};
    if (!own->held || !own->data || !own->lengths) {
        own->count = 0;
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t k = 0; k < own->count; k++) {
        Py_buffer *view = hold(&own->held[k], PyList_GetItem(list, k), "d", 2,
                               PyBUF_C_CONTIGUOUS);
        if (!view)
            return -1;
        if (k > 0 && view->shape[0] != parts->rows) {
            PyErr_SetString(PyExc_ValueError, "the parts must have the same rows");
            return -1;
        }
        parts->rows = view->shape[0];
        own->data[k] = view->buf;
        own->lengths[k] = view->shape[1];
        parts->total += view->shape[1];
    }
    return 0;
}

/* Arguments parts, size, turns or None, medians, used. */
static PyObject *call_joined_medians(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    HeldParts own = {.count = 0};
    PyObject *list, *turns_array, *medians_array, *used_array;
    Parts parts;
    Py_ssize_t size;
    const double *turns = NULL;
    double *medians;
    int64_t *used;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!nOOO", &PyList_Type, &list, &size, &turns_array,
                          &medians_array, &used_array))
        return NULL;
    if (hold_parts(&own, list, &parts) == 0) {
        if (size < 1 || parts.rows % size)
            PyErr_SetString(PyExc_ValueError, "expected whole systems of at least one row");
        else if ((turns_array == Py_None ||
                  (turns = hold_values(&held, turns_array, "d", parts.rows * size, 0, NULL))) &&
                 (medians = hold_out(&held, medians_array, parts.rows)) &&
                 (used = hold_values(&held, used_array, "lq", parts.rows / size, 1, NULL))) {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->joined_medians(&parts, size, turns, medians, used);
            Py_END_ALLOW_THREADS
        }
    }
    release_parts(&own);
    return finish(&held, status);
}

/* Arguments parts, medians, deviations. */
static PyObject *call_joined_spreads(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    HeldParts own = {.count = 0};
    PyObject *list, *medians_array, *deviations_array;
    Parts parts;
    double *medians, *deviations;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OO", &PyList_Type, &list, &medians_array,
                          &deviations_array))
        return NULL;
    if (hold_parts(&own, list, &parts) == 0 &&
        (medians = hold_out(&held, medians_array, parts.rows)) &&
        (deviations = hold_out(&held, deviations_array, parts.rows))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->joined_spreads(&parts, medians, deviations);
        Py_END_ALLOW_THREADS
    }
    release_parts(&own);
    return finish(&held, status);
}

#include "module_sifting.h"
#include "module_triangles.h"

static PyObject *call_residuals(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuple, *coefficients_array, *out_array;
    Matrix x;
    Families families;
    const double *coefficients;
    double *out;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!OO", &x_array, &PyTuple_Type, &tuple,
                          &coefficients_array, &out_array))
        return NULL;
    if (hold_matrix(&held, x_array, "df", 0, &x) == 0 &&
        hold_families(&held, tuple, x.columns, &families) == 0 &&
        (coefficients = hold_values(&held, coefficients_array, "d", edges_of(&families), 0,
                                    NULL)) &&
        (out = hold_out(&held, out_array, families.count * x.rows))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->residuals(&x, &families, coefficients, out);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

static PyObject *call_residual_moments(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuple, *coefficients_array, *means_array, *squares_array;
    Matrix x;
    Families families;
    const double *coefficients;
    double *means, *squares;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!OOO", &x_array, &PyTuple_Type, &tuple,
                          &coefficients_array, &means_array, &squares_array))
        return NULL;
    if (hold_matrix(&held, x_array, "df", 0, &x) == 0 &&
        hold_families(&held, tuple, x.columns, &families) == 0 &&
        (coefficients = hold_values(&held, coefficients_array, "d", edges_of(&families), 0,
                                    NULL)) &&
        (means = hold_out(&held, means_array, families.count)) &&
        (squares = hold_out(&held, squares_array, families.count))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->residual_moments(&x, &families, coefficients, means, squares);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

static PyObject *call_propagate(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *rows_array, *order_array, *tuple, *coefficients_array;
    Matrix rows;
    Families families;
    const double *coefficients;
    const int64_t *order;
    Py_ssize_t count;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OOO!O", &rows_array, &order_array, &PyTuple_Type, &tuple,
                          &coefficients_array))
        return NULL;
    if (hold_matrix(&held, rows_array, "d", 1, &rows) == 0 &&
        hold_families(&held, tuple, rows.columns, &families) == 0 &&
        (order = hold_values(&held, order_array, "lq", -1, 0, &count)) &&
        (coefficients = hold_values(&held, coefficients_array, "d", edges_of(&families), 0,
                                    NULL))) {
        if (!is_within(order, count, families.count)) {
            PyErr_SetString(PyExc_ValueError, "the order names a node that has no family");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->propagate(&rows, &families, order, count, coefficients);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

static PyObject *call_turn_columns(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *out_array;
    Matrix x;
    double *out;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO", &x_array, &out_array))
        return NULL;
    if (hold_matrix(&held, x_array, "df", 0, &x) == 0 &&
        (out = hold_out(&held, out_array, x.rows * x.columns))) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->turn_columns(&x, out);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

/* Rows whose columns lie in memory one value after the other. */
static int hold_columns(Held *held, PyObject *array, Matrix *x)
{
    if (hold_matrix(held, array, "d", 0, x) < 0)
        return -1;
    if (x->rows > 1 && x->row_stride != sizeof(double)) {
        PyErr_SetString(PyExc_ValueError, "the values of a column must follow each other");
        return -1;
    }
    return 0;
}

/* Arguments x, families, (first, last, intercept, spread, gate_level), coefficients, intercepts,
 * squares, half, means, verdicts. */
static PyObject *call_screen_families(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuple, *given[6];
    Matrix x;
    Families families;
    Screen screen;
    double *verdicts;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!(nnpdd)OOOOOO", &x_array, &PyTuple_Type, &tuple,
                          &screen.first, &screen.last, &screen.intercept, &screen.spread,
                          &screen.gate_level, &given[0], &given[1], &given[2], &given[3],
                          &given[4], &given[5]))
        return NULL;
    if (hold_columns(&held, x_array, &x) == 0 &&
        hold_families(&held, tuple, x.columns, &families) == 0 &&
        (screen.coefficients = hold_values(&held, given[0], "d", edges_of(&families), 0, NULL)) &&
        (screen.intercepts = hold_values(&held, given[1], "d", families.count, 0, NULL)) &&
        (screen.squares = hold_values(&held, given[2], "d", families.count, 0, NULL)) &&
        (screen.half = hold_values(&held, given[3], "d", families.count, 0, NULL)) &&
        (screen.means = hold_values(&held, given[4], "d", edges_of(&families) + families.count, 0,
                                    NULL)) &&
        (verdicts = hold_out(&held, given[5], families.count))) {
        if (screen.first < 0 || screen.last > families.count) {
            PyErr_SetString(PyExc_ValueError, "there are not so many families");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->screen_families(&x, &families, &screen, verdicts);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* Whether places first..last of each of `count` runs follow each other within `limit`. */
static int are_runs(const int64_t *firsts, const int64_t *lasts, Py_ssize_t count,
                    Py_ssize_t limit)
{
    int sound = 1;
    for (Py_ssize_t k = 0; k < count; k++)
        sound = sound && firsts[k] >= 0 && firsts[k] <= lasts[k] && lasts[k] <= limit;
    return sound;
}

/* Whether a task with `cells` suspicious cells of the parents keeps to the rows and columns. */
static int is_sound_task(const JudgeTask *task, const Matrix *x, Py_ssize_t cells)
{
    return (task->width == task->size || task->width == task->size + 1) &&
           task->rank <= task->width && is_within(&task->child, 1, x->columns) &&
           is_within(task->parents, task->size, x->columns) &&
           is_within(task->rejected, task->rejected_count, x->rows) &&
           are_runs(task->firsts, task->lasts, task->size, cells) &&
           is_within(task->cell_rows, cells, x->rows);
}

/* Arguments x, (child, reference, scale, limit, cleaned_cutoff, largest_vagueness, cap), (parents,
 * sound, rejected, residuals), (offsets, cell_rows, cell_expected, cell_variances), (coefficients,
 * centres, whitener), (rows, left_out, events, statuses, numbers, testimony). The numbers are the
 * evidence, how many cells and events there are, and the cells' expected values, variances and
 * deviations. */
static PyObject *call_judge_rows(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *given[17];
    Matrix x;
    JudgeTask task;
    Judged judged;
    Py_ssize_t cells, numbers, size, rejected;
    const unsigned char *is_sound;
    double *totals, *testimony;
    long long child;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O(Ldddddd)(OOOO)(OOOO)(OOO)(OOOOOO)", &x_array, &child,
                          &task.reference, &task.scale, &task.limit, &task.cleaned_cutoff,
                          &task.largest_vagueness, &task.cap, &given[0], &given[1], &given[2],
                          &given[3], &given[4], &given[5], &given[6], &given[7], &given[8],
                          &given[9], &given[10], &given[11], &given[12], &given[13], &given[14],
                          &given[15], &given[16]))
        return NULL;
    task.child = child;
    if (hold_columns(&held, x_array, &x) == 0 &&
        (task.parents = hold_values(&held, given[0], "lq", -1, 0, &size)) &&
        (is_sound = hold_values(&held, given[1], "?", x.rows, 0, NULL)) &&
        (task.rejected = hold_values(&held, given[2], "lq", -1, 0, &rejected)) &&
        (task.residuals = hold_values(&held, given[3], "d", rejected, 0, NULL)) &&
        (task.firsts = hold_values(&held, given[4], "lq", size + 1, 0, NULL)) &&
        (task.cell_rows = hold_values(&held, given[5], "lq", -1, 0, &cells)) &&
        (task.cell_expected = hold_values(&held, given[6], "d", cells, 0, NULL)) &&
        (task.cell_variances = hold_values(&held, given[7], "d", cells, 0, NULL)) &&
        (task.coefficients = hold_values(&held, given[8], "d", -1, 0, &task.width)) &&
        (task.centres = hold_values(&held, given[9], "d", size, 0, NULL)) &&
        (task.whitener = hold_values(&held, given[10], "d", -1, 0, &numbers))) {
        Py_ssize_t most = rejected;
        for (Py_ssize_t r = 0; r < x.rows; r++)
            most += is_sound[r] == 0;
        task.size = size;
        task.lasts = task.firsts + 1;
        task.rejected_count = rejected;
        task.rank = task.width ? numbers / task.width : 0;
        if ((judged.rows = hold_values(&held, given[11], "lq", most, 1, NULL)) &&
            (judged.left_out = hold_values(&held, given[12], "lq", most, 1, NULL)) &&
            (judged.events = hold_values(&held, given[13], "lq", most, 1, NULL)) &&
            (judged.statuses = hold_values(&held, given[14], "B", most, 1, NULL)) &&
            (totals = hold_out(&held, given[15], 3 * most + 3)) &&
            (testimony = hold_out(&held, given[16], cells))) {
            judged.expected = totals + 3;
            judged.variances = judged.expected + most;
            judged.deviations = judged.variances + most;
            if (!is_sound_task(&task, &x, cells)) {
                PyErr_SetString(PyExc_ValueError, "the node points outside the rows or columns");
            } else {
                Py_BEGIN_ALLOW_THREADS
                memset(testimony, 0, (size_t)cells * sizeof(double));
                status = kernels->judge_rows(&x, &task, is_sound, &judged, testimony);
                totals[0] = judged.evidence;
                totals[1] = (double)judged.cell_count;
                totals[2] = (double)judged.event_count;
                Py_END_ALLOW_THREADS
            }
        }
    }
    return finish(&held, status);
}

/* A table of cells of `nodes` nodes as the tuple (bounds, rows, statuses, values, testimony): the
 * arrays of a CellTable one after the other. */
static int hold_table(Held *held, PyObject *tuple, Py_ssize_t nodes, CellTable *table)
{
    PyObject *given[5];
    int64_t *bounds, *rows;
    double *values;
    if (!PyArg_ParseTuple(tuple, "OOOOO", &given[0], &given[1], &given[2], &given[3], &given[4]) ||
        !(bounds = hold_values(held, given[0], "lq", 4 * nodes, 1, NULL)) ||
        !(table->statuses = hold_values(held, given[2], "B", -1, 1, &table->room)) ||
        !(rows = hold_values(held, given[1], "lq", 2 * table->room, 1, NULL)) ||
        !(values = hold_out(held, given[3], 3 * table->room)) ||
        !(table->testimony = hold_out(held, given[4], table->room)))
        return -1;
    table->firsts = bounds;
    table->lasts = bounds + nodes;
    table->left_firsts = bounds + 2 * nodes;
    table->left_lasts = bounds + 3 * nodes;
    table->rows = rows;
    table->left_out = rows + table->room;
    table->expected = values;
    table->variances = values + table->room;
    table->deviations = values + 2 * table->room;
    return 0;
}

/* What is learnt of `nodes` nodes as the tuple (coefficients, numbers, counts). */
static int hold_learnt(Held *held, PyObject *tuple, const Families *families, Learnt *learnt)
{
    PyObject *given[3];
    const Py_ssize_t nodes = families->count;
    if (!PyArg_ParseTuple(tuple, "OOO", &given[0], &given[1], &given[2]) ||
        !(learnt->coefficients = hold_out(held, given[0], edges_of(families))) ||
        !(learnt->intercepts = hold_out(held, given[1], 4 * nodes)) ||
        !(learnt->used = hold_values(held, given[2], "lq", 3 * nodes, 1, NULL)))
        return -1;
    learnt->variances = learnt->intercepts + nodes;
    learnt->noise = learnt->variances + nodes;
    learnt->cutoffs = learnt->noise + nodes;
    learnt->ranks = learnt->used + nodes;
    learnt->returned = learnt->ranks + nodes;
    return 0;
}

/* Whether a walk keeps to its nodes, and these to the columns. */
static int is_sound_walk(const Walk *walk, const Matrix *x)
{
    const Families *families = walk->families;
    int sound = families->count <= x->columns && is_within(walk->nodes, walk->count, families->count)
                && is_within(families->parents, edges_of(families), families->count);
    for (Py_ssize_t f = 0; f < families->count; f++)
        sound = sound && families->children[f] == f;
    return sound;
}

/* Whether the cells of all nodes keep to the rows. */
static int is_sound_table(const CellTable *table, Py_ssize_t nodes, Py_ssize_t rows)
{
    int sound = are_runs(table->firsts, table->lasts, nodes, table->room);
    for (Py_ssize_t f = 0; sound && f < nodes; f++)
        sound = is_within(table->rows + table->firsts[f], table->lasts[f] - table->firsts[f], rows);
    return sound;
}

/* Arguments x, families, nodes, (intercept, mean_square), (limits, half, farthest, verdicts),
 * learnt, known, found, progress. The limits are the numbers of WalkLimits. */
static PyObject *call_learn_nodes(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuples[4], *given[5], *progress_array;
    Matrix x;
    Families families;
    Walk walk = {.families = &families};
    Learnt learnt;
    CellTable known, found;
    Progress *progress;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!O(pp)(OOOO)O!O!O!O", &x_array, &PyTuple_Type, &tuples[0],
                          &given[0], &walk.intercept, &walk.mean_square, &given[1], &given[2],
                          &given[3], &given[4], &PyTuple_Type, &tuples[1], &PyTuple_Type,
                          &tuples[2], &PyTuple_Type, &tuples[3], &progress_array))
        return NULL;
    if (hold_columns(&held, x_array, &x) == 0 &&
        hold_families(&held, tuples[0], x.columns, &families) == 0 &&
        (walk.nodes = hold_values(&held, given[0], "lq", -1, 0, &walk.count)) &&
        (walk.limits = hold_values(&held, given[1], "d", sizeof *walk.limits / 8, 0, NULL)) &&
        (walk.half = hold_values(&held, given[2], "d", families.count, 0, NULL)) &&
        (walk.farthest = hold_values(&held, given[3], "d", families.count, 0, NULL)) &&
        (walk.verdicts = hold_values(&held, given[4], "B", families.count, 0, NULL)) &&
        hold_learnt(&held, tuples[1], &families, &learnt) == 0 &&
        hold_table(&held, tuples[2], families.count, &known) == 0 &&
        hold_table(&held, tuples[3], families.count, &found) == 0 &&
        (progress = hold_values(&held, progress_array, "lq", sizeof *progress / 8, 1, NULL))) {
        if (!is_sound_walk(&walk, &x) || !is_sound_table(&known, families.count, x.rows) ||
            progress->cells < 0 || progress->left_out < 0) {
            PyErr_SetString(PyExc_ValueError, "the walk points outside the nodes or rows");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->learn_nodes(&x, &walk, &known, &learnt, &found, progress);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* Cells of the children of all edges. */
static Py_ssize_t cells_below(const Families *families, const CellTable *table)
{
    Py_ssize_t cells = 0;
    for (ptrdiff_t f = 0; f < families->count; f++)
        cells += (table->lasts[f] - table->firsts[f]) * family_size(families, f);
    return cells;
}

/* Arguments families, table, reach, rows, keys; gives how many keys were written. */
static PyObject *call_list_parents(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *tuples[2], *reach_array, *keys_array;
    Families families;
    CellTable table;
    const double *reach;
    int64_t *keys;
    Py_ssize_t rows, count = 0, room;
    if (!PyArg_ParseTuple(arguments, "O!O!OnO", &PyTuple_Type, &tuples[0], &PyTuple_Type,
                          &tuples[1], &reach_array, &rows, &keys_array))
        return NULL;
    if (hold_families(&held, tuples[0], PY_SSIZE_T_MAX, &families) == 0 &&
        hold_table(&held, tuples[1], families.count, &table) == 0 &&
        (reach = hold_values(&held, reach_array, "d", families.count, 0, NULL)) &&
        (keys = hold_values(&held, keys_array, "lq", -1, 1, &room))) {
        if (!is_within(families.parents, edges_of(&families), families.count) ||
            !is_sound_table(&table, families.count, rows) ||
            cells_below(&families, &table) > room) {
            PyErr_SetString(PyExc_ValueError, "the table points outside the nodes or rows");
        } else {
            Py_BEGIN_ALLOW_THREADS
            count = kernels->list_parents(&families, &table, reach, rows, keys);
            Py_END_ALLOW_THREADS
        }
    }
    release(&held);
    return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(count);
}

/* Arguments table, nodes, rows, places. */
static PyObject *call_find_cells(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *tuple, *given[3], *bounds;
    CellTable table;
    const int64_t *nodes, *rows;
    int64_t *places;
    Py_ssize_t count;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyTuple_Type, &tuple, &given[0], &given[1],
                          &given[2]) ||
        !(bounds = PyTuple_GetItem(tuple, 0)))
        return NULL;
    const Py_ssize_t known = PyObject_Size(bounds) / 4;
    if (known >= 0 && hold_table(&held, tuple, known, &table) == 0 &&
        (nodes = hold_values(&held, given[0], "lq", -1, 0, &count)) &&
        (rows = hold_values(&held, given[1], "lq", count, 0, NULL)) &&
        (places = hold_values(&held, given[2], "lq", count, 1, NULL))) {
        if (!is_within(nodes, count, known) ||
            !are_runs(table.firsts, table.lasts, known, table.room)) {
            PyErr_SetString(PyExc_ValueError, "the table points outside the nodes or rows");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->find_cells(&table, nodes, rows, count, places);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* Arguments x, (child, intercept), parents, sound, limits, numbers, residuals, rejected. The
 * numbers are written one after the other: the six of a TrimAnswer, coefficients, centres,
 * whitener. */
static PyObject *call_trim_family(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *given[6];
    Matrix x;
    TrimTask task;
    TrimAnswer answer;
    const TrimLimits *limits;
    long long child;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O(Lp)OOOOOO", &x_array, &child, &task.intercept, &given[0],
                          &given[1], &given[2], &given[3], &given[4], &given[5]))
        return NULL;
    task.child = child;
    if (hold_columns(&held, x_array, &x) == 0 &&
        (task.parents = hold_values(&held, given[0], "lq", -1, 0, &task.size)) &&
        (task.sound = hold_values(&held, given[1], "?", x.rows, 0, NULL)) &&
        (limits = hold_values(&held, given[2], "d", sizeof *limits / 8, 0, NULL))) {
        const Py_ssize_t size = task.size + (task.intercept ? 1 : 0);
        task.row_count = 0;
        for (Py_ssize_t r = 0; r < x.rows; r++)
            task.row_count += task.sound[r] != 0;
        answer.numbers = hold_out(&held, given[3], 6 + size + task.size + size * size);
        if (answer.numbers &&
            (answer.residuals = hold_out(&held, given[4], task.row_count)) &&
            (answer.rejected = hold_values(&held, given[5], "lq", task.row_count, 1, NULL))) {
            answer.coefficients = answer.numbers + 6;
            answer.centres = answer.coefficients + size;
            answer.whitener = answer.centres + task.size;
            if (!is_within(&task.child, 1, x.columns) ||
                !is_within(task.parents, task.size, x.columns)) {
                PyErr_SetString(PyExc_ValueError, "the node points outside the columns");
            } else {
                Py_BEGIN_ALLOW_THREADS
                status = kernels->trim_family(&x, &task, limits, &answer);
                Py_END_ALLOW_THREADS
            }
        }
    }
    return finish(&held, status);
}

/* Whether rows `starts[r]..starts[r + 1]` follow each other within `limit` values. */
static int is_rising(const int64_t *starts, Py_ssize_t rows, Py_ssize_t limit)
{
    int sound = starts[0] >= 0 && starts[rows] <= limit;
    for (Py_ssize_t r = 0; r < rows; r++)
        sound = sound && starts[r] <= starts[r + 1];
    return sound;
}

static PyObject *call_split_rows(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *arrays[8];
    Brackets brackets;
    const double *values;
    const int64_t *starts;
    Py_ssize_t count, rows;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OOOOOOOO", &arrays[0], &arrays[1], &arrays[2], &arrays[3],
                          &arrays[4], &arrays[5], &arrays[6], &arrays[7]))
        return NULL;
    if ((values = hold_values(&held, arrays[0], "d", -1, 0, &count)) &&
        (brackets.lows = hold_values(&held, arrays[2], "d", -1, 0, &rows)) &&
        (brackets.highs = hold_values(&held, arrays[3], "d", rows, 0, NULL)) &&
        (starts = hold_values(&held, arrays[1], "lq", rows + 1, 0, NULL)) &&
        (brackets.counts = hold_values(&held, arrays[4], "lq", 4 * rows, 1, NULL)) &&
        (brackets.largest = hold_out(&held, arrays[5], rows)) &&
        (brackets.kept = hold_out(&held, arrays[6], count + MOST_LANES)) &&
        (brackets.kept_starts = hold_values(&held, arrays[7], "lq", rows + 1, 1, NULL))) {
        if (!is_rising(starts, rows, count)) {
            PyErr_SetString(PyExc_ValueError, "rows start outside the values or before each other");
        } else {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->split_rows(values, starts, rows, &brackets);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* The builds that this processor can run, best first; NULL at the end. */
static const Kernels *const *runnable(void)
{
    static const Kernels *found[3];
    int count = 0;
#ifdef GAUSSNET_HAS_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        found[count++] = &kernels_avx2;
#endif
    found[count++] = &kernels_baseline;
    found[count] = NULL;
    return found;
}

static PyObject *call_builds(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    PyObject *names = PyList_New(0);
    for (const Kernels *const *build = runnable(); names && *build; build++) {
        PyObject *name = PyUnicode_FromString((*build)->name);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyObject *call_use_build(PyObject *self, PyObject *arguments)
{
    (void)self;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s", &name))
        return NULL;
    for (const Kernels *const *build = runnable(); *build; build++)
        if (strcmp((*build)->name, name) == 0) {
            kernels = *build;
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "this processor cannot run a build named %s", name);
}

static PyMethodDef methods[] = {
    {"all_finite", call_all_finite, METH_O, NULL},
    {"copy_finite", call_copy_finite, METH_VARARGS, NULL},
    {"family_moments", call_family_moments, METH_VARARGS, NULL},
    {"solve_moments", call_solve_moments, METH_VARARGS, NULL},
    {"upper_triangles", call_upper_triangles, METH_VARARGS, NULL},
    {"solve_triangles", call_solve_triangles, METH_VARARGS, NULL},
    {"batch_solutions", call_batch_solutions, METH_VARARGS, NULL},
    {"square_solutions", call_square_solutions, METH_VARARGS, NULL},
    {"tile_rows", call_tile_rows, METH_VARARGS, NULL},
    {"sift_solutions", call_sift_solutions, METH_VARARGS, NULL},
    {"sift_residuals", call_sift_residuals, METH_VARARGS, NULL},
    {"sifted_ranks", call_sifted_ranks, METH_VARARGS, NULL},
    {"split_sifted", call_split_sifted, METH_VARARGS, NULL},
    {"row_medians", call_row_medians, METH_VARARGS, NULL},
    {"joined_medians", call_joined_medians, METH_VARARGS, NULL},
    {"joined_spreads", call_joined_spreads, METH_VARARGS, NULL},
    {"residuals", call_residuals, METH_VARARGS, NULL},
    {"residual_moments", call_residual_moments, METH_VARARGS, NULL},
    {"propagate", call_propagate, METH_VARARGS, NULL},
    {"turn_columns", call_turn_columns, METH_VARARGS, NULL},
    {"screen_families", call_screen_families, METH_VARARGS, NULL},
    {"judge_rows", call_judge_rows, METH_VARARGS, NULL},
    {"trim_family", call_trim_family, METH_VARARGS, NULL},
    {"learn_nodes", call_learn_nodes, METH_VARARGS, NULL},
    {"list_parents", call_list_parents, METH_VARARGS, NULL},
    {"find_cells", call_find_cells, METH_VARARGS, NULL},
    {"split_rows", call_split_rows, METH_VARARGS, NULL},
    {"builds", call_builds, METH_NOARGS, "Names of the builds this processor can run, best first."},
    {"use_build", call_use_build, METH_VARARGS, "Switch to the build of this name."},
    {NULL, NULL, 0, NULL},
};

static int choose_best(PyObject *module)
{
    (void)module;
    kernels = runnable()[0];
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, choose_best},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_doc = "The compiled kernels of gaussnet.",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
