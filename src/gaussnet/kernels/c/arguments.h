/* Arguments from Python, read and checked as the signature of a kernel says (see kernels.h).
 *
 * Arrays come as buffers. Callers are trusted to give sensible numbers, but no argument can make a
 * kernel touch memory that is not its own.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include "kernels.h"

#define MOST_ARGUMENTS 32
/* Buffers of all arguments but lists. */
#define MOST_BUFFERS 32
/* No number of rows, columns or windows is larger: so many bytes have no address. */
#define MOST_ROWS ((Py_ssize_t)1 << (sizeof(Py_ssize_t) == 8 ? 48 : 28))
#define UNKNOWN (-1)

/* A call of a kernel: its arguments, the buffers that it holds, and the lengths that are known, by
 * their letters. */
typedef struct {
    Argument given[MOST_ARGUMENTS];
    Py_ssize_t lengths[26];
    Py_buffer *views;
    Py_ssize_t view_count;
    Py_ssize_t written[MOST_ARGUMENTS]; /* which of the buffers */
    int written_count;
    void *memory; /* of the parts of a list */
} Call;

static int refuse(const char *message)
{
    PyErr_SetString(PyExc_ValueError, message);
    return -1;
}

static void learn_length(Call *call, char letter, Py_ssize_t length)
{
    call->lengths[letter - 'A'] = length;
}

static Py_ssize_t length_of(const Call *call, char letter) { return call->lengths[letter - 'A']; }

/* Hold an array of one of the types named in `formats`; NULL with an error set if it is not. */
static Py_buffer *hold(Call *call, PyObject *array, const char *formats, int flags)
{
    Py_buffer *view = &call->views[call->view_count];
    if (PyObject_GetBuffer(array, view, flags | PyBUF_FORMAT) < 0)
        return NULL;
    if (flags & PyBUF_WRITABLE)
        call->written[call->written_count++] = call->view_count;
    call->view_count++;
    const char *format = view->format ? view->format : "B";
    if (strlen(format) != 1 || !strchr(formats, format[0]) ||
        view->itemsize != (format[0] == 'f' ? 4 : strchr("?B", format[0]) ? 1 : 8)) {
        PyErr_Format(PyExc_TypeError, "expected an array of type %s, got %s", formats, format);
        return NULL;
    }
    return view;
}

/* A length as an expression like 4F or ET+1 tells it: `factor` times a letter that is not known,
 * if there is one, and `rest`. */
typedef struct {
    Py_ssize_t factor, rest;
    char unknown;
} Length;

/* One term, a product of letters and digits, with or without commas. */
static void read_term(const Call *call, const char **at, Length *length)
{
    Py_ssize_t product = 1;
    char unknown = 0;
    for (; !strchr("+;]", **at); (*at)++) {
        const char letter = **at;
        if (letter >= 'A' && letter <= 'Z' && length_of(call, letter) == UNKNOWN)
            unknown = letter;
        else if (letter >= 'A' && letter <= 'Z')
            product = times(product, length_of(call, letter));
        else if (letter != ',')
            product = times(product, letter - '0');
    }
    if (unknown) {
        length->unknown = unknown;
        length->factor = product;
    } else {
        length->rest = plus(length->rest, product);
    }
}

/* Read an expression; *at is left behind it. */
static Length read_length(const Call *call, const char **at)
{
    Length length = {0, 0, 0};
    do {
        (*at)++; /* the bracket, semicolon or plus before */
        read_term(call, at, &length);
    } while (**at == '+');
    return length;
}

/* Check a length, or learn the one that is not known from it. */
static int check_length(Call *call, const Length *length, Py_ssize_t found)
{
    const Py_ssize_t rest = found - smaller(length->rest, TOO_MANY - 1);
    if (!length->unknown && rest == 0 && length->rest != TOO_MANY)
        return 0;
    if (length->unknown && length->factor > 0 && rest >= 0 && rest % length->factor == 0) {
        learn_length(call, length->unknown, rest / length->factor);
        return 0;
    }
    if (length->unknown)
        PyErr_Format(PyExc_ValueError, "expected a multiple of %zd values and %zd, got %zd",
                     length->factor, length->rest, found);
    else
        PyErr_Format(PyExc_ValueError, "expected %zd values, got %zd", length->rest, found);
    return -1;
}

static int are_indices(const int64_t *values, Py_ssize_t count, Py_ssize_t limit)
{
    for (Py_ssize_t k = 0; k < count; k++)
        if (values[k] < 0 || values[k] >= limit)
            return 0;
    return 1;
}

static int are_offsets(const int64_t *values, Py_ssize_t count, Py_ssize_t limit)
{
    int sound = count > 0 && values[0] >= 0 && values[count - 1] <= limit;
    for (Py_ssize_t k = 1; k < count; k++)
        sound = sound && values[k - 1] <= values[k];
    return sound;
}

/* An array of any shape whose values follow each other. */
static int read_array(Call *call, char letter, const Length *length, PyObject *object,
                      Argument *to)
{
    const int written = letter >= 'A' && letter <= 'Z';
    const char kind = (char)(written ? letter - 'A' + 'a' : letter);
    const char *formats = kind == 'd' ? "d" : kind == 'b' ? "?B" : "lq";
    Py_buffer *view = hold(call, object, formats, PyBUF_C_CONTIGUOUS | (written ? PyBUF_WRITABLE : 0));
    if (!view)
        return -1;
    to->values = view->buf;
    to->length = view->len / view->itemsize;
    return check_length(call, length, to->length);
}

/* Indices and offsets keep to a limit. */
static int check_limit(char letter, const Argument *array, Py_ssize_t limit)
{
    if (letter == 'j' && !are_indices(array->values, array->length, limit))
        return refuse("indices point outside");
    if (letter == 'o' && !are_offsets(array->values, array->length, limit))
        return refuse("offsets fall or point outside the values");
    return 0;
}

/* Read an array, and the brackets after its letter. */
static int read_bounded(Call *call, const char **at, PyObject *object, int optional, Argument *to)
{
    const char letter = *(*at)++;
    const Length length = read_length(call, at);
    const Length limit = **at == ';' ? read_length(call, at) : length;
    (*at)++;
    if (optional && object == Py_None)
        return 0;
    if (read_array(call, letter, &length, object, to) < 0)
        return -1;
    return check_limit(letter, to, limit.unknown ? 0 : limit.rest);
}

static int read_matrix(Call *call, char letter, PyObject *object, Matrix *x)
{
    Py_buffer *view = hold(call, object, letter == 'x' ? "df" : "d",
                           PyBUF_STRIDES | (letter == 'X' ? PyBUF_WRITABLE : 0));
    if (!view)
        return -1;
    if (view->ndim != 2 || view->shape[0] > MOST_ROWS || view->shape[1] > MOST_ROWS)
        return refuse("expected rows and columns");
    *x = (Matrix){view->buf,        view->shape[0],   view->shape[1],
                  view->strides[0], view->strides[1], view->itemsize == 4};
    const ptrdiff_t value_bytes = sizeof(double);
    if (letter == 'c' && x->rows > 1 && x->row_stride != value_bytes)
        return refuse("the values of a column must follow each other");
    learn_length(call, 'R', x->rows);
    learn_length(call, 'C', x->columns);
    learn_length(call, 'T', tile_count(x->rows, x->columns, 0));
    return 0;
}

/* Learn the lengths that families stand for. */
static void learn_families(Call *call, const Families *families)
{
    Py_ssize_t products = 0, squares = 0;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        products = plus(products, plus(size, 1) + times(size, plus(size, 1)) / 2);
        squares = plus(squares, times(size, size));
    }
    learn_length(call, 'F', families->count);
    learn_length(call, 'E', (Py_ssize_t)families->offsets[families->count]);
    learn_length(call, 'P', products);
    learn_length(call, 'S', squares);
}

/* Families as the tuple (children, offsets, parents). */
static int read_families(Call *call, int of_graph, PyObject *object, Families *families)
{
    PyObject *arrays[3];
    Argument own[3];
    const Length any = {1, 0, 'F'}, edges = {1, 0, 'E'};
    const Py_ssize_t columns = length_of(call, 'C') == UNKNOWN ? MOST_ROWS : length_of(call, 'C');
    if (!PyTuple_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "families are a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(object, "OOO", &arrays[0], &arrays[1], &arrays[2]) ||
        read_array(call, 'i', &any, arrays[0], &own[0]) < 0)
        return -1;
    const Length offsets = {0, own[0].length + 1, 0};
    if (read_array(call, 'i', &offsets, arrays[1], &own[1]) < 0 ||
        read_array(call, 'i', &edges, arrays[2], &own[2]) < 0)
        return -1;
    *families = (Families){own[0].length, own[0].values, own[1].values, own[2].values};
    const Py_ssize_t count = own[0].length;
    int sound = are_offsets(own[1].values, count + 1, own[2].length) && families->offsets[0] == 0 &&
                families->offsets[count] == own[2].length &&
                are_indices(own[0].values, count, columns) &&
                are_indices(own[2].values, own[2].length, of_graph ? count : columns);
    for (Py_ssize_t f = 0; of_graph && f < count; f++)
        sound = sound && families->children[f] == f;
    if (!sound)
        return refuse("families point outside the columns or each other");
    learn_families(call, families);
    return 0;
}

/* Learn how many values and tiles windows stand for. */
static void learn_windows(Call *call, const Families *families, const Windows *windows)
{
    const Py_ssize_t rows = length_of(call, 'R');
    Py_ssize_t solutions = 0;
    for (ptrdiff_t f = 0; f < families->count; f++) {
        const ptrdiff_t size = family_size(families, f);
        if (size == 0)
            continue;
        const WindowRange range = window_range(windows->start, windows->stop, rows,
                                               window_height(windows, size), windows->sliding);
        solutions = plus(solutions, times(size, range.last - range.first));
    }
    learn_length(call, 'W', solutions);
    learn_length(call, 'T', tile_count(windows->stop - windows->start, length_of(call, 'C'), 1));
}

/* Windows of the rows and families that were read before. Rows beyond the last begin no window, and
 * windows that are longer than all rows are those of one row more. */
static int read_windows(Call *call, char letter, PyObject *object, Windows *windows)
{
    const Py_ssize_t rows = length_of(call, 'R');
    *windows = (Windows){.extra_rows = 0};
    if (!PyTuple_Check(object) ||
        !(letter == 'w' ? PyArg_ParseTuple(object, "nnpp", &windows->start, &windows->stop,
                                           &windows->sliding, &windows->centre)
                        : PyArg_ParseTuple(object, "nnnp", &windows->start, &windows->stop,
                                           &windows->extra_rows, &windows->centre)))
        return PyErr_Occurred() ? -1 : refuse("windows are a tuple");
    if (windows->start < 0 || windows->stop < 0 || windows->extra_rows < 0)
        return refuse("start, stop and extra_rows are at least 0");
    windows->start = smaller(windows->start, rows);
    windows->stop = smaller(windows->stop, rows);
    windows->extra_rows = smaller(windows->extra_rows, rows + 1);
    learn_windows(call, &call->given[1].families, windows);
    return 0;
}

/* A list of pairs of values and offsets into these. */
static int read_parts(Call *call, const char **at, PyObject *list, Parts *parts)
{
    (*at)++;
    const Length length = read_length(call, at);
    const Py_ssize_t count = PyList_Check(list) ? PyList_Size(list) : -1;
    const Length any = {1, 0, 'Z'};
    (*at)++;
    if (count < 0)
        return refuse("expected a list");
    call->memory = PyMem_Calloc(2 * (size_t)count + 1, sizeof(void *));
    if (!call->memory) {
        PyErr_NoMemory();
        return -1;
    }
    *parts = (Parts){count, call->memory, (const int64_t **)call->memory + count};
    for (Py_ssize_t k = 0; k < count; k++) {
        PyObject *arrays[2];
        Argument values, starts;
        learn_length(call, 'Z', UNKNOWN);
        if (!PyArg_ParseTuple(PyList_GetItem(list, k), "OO", &arrays[0], &arrays[1]) ||
            read_array(call, 'd', &any, arrays[0], &values) < 0 ||
            read_array(call, 'o', &length, arrays[1], &starts) < 0 ||
            check_limit('o', &starts, values.length) < 0)
            return -1;
        parts->values[k] = values.values;
        parts->starts[k] = starts.values;
    }
    return 0;
}

static int read_number(Call *call, const char **at, PyObject *object, Argument *to)
{
    (*at)++;
    to->number = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (to->number == -1 && PyErr_Occurred())
        return -1;
    if (to->number < 0 || to->number > MOST_ROWS)
        return refuse("a number is negative or too large");
    if (**at >= 'A' && **at <= 'Z')
        learn_length(call, *(*at)++, to->number);
    return 0;
}

/* Read one argument; *at goes from its letter to what follows. */
static int read_argument(Call *call, const char **at, PyObject *object, Argument *to)
{
    const char letter = **at;
    if (strchr("diDIbBjo", letter))
        return read_bounded(call, at, object, 0, to);
    if (letter == '?')
        return (*at)++, read_bounded(call, at, object, 1, to);
    if (letter == 'l')
        return read_parts(call, at, object, &to->parts);
    if (letter == 'n')
        return read_number(call, at, object, to);
    (*at)++;
    switch (letter) {
    case 'p': return (int)(to->number = PyObject_IsTrue(object)) < 0 ? -1 : 0;
    case 's': return (to->real = PyFloat_AsDouble(object)) == -1.0 && PyErr_Occurred() ? -1 : 0;
    case 'f': return read_families(call, 0, object, &to->families);
    case 'g': return read_families(call, 1, object, &to->families);
    case 'w':
    case 'v': return read_windows(call, letter, object, &to->windows);
    default: return read_matrix(call, letter, object, &to->matrix);
    }
}

/* The bytes from the first to the last value of a buffer. */
typedef struct {
    uintptr_t start, stop;
} Extent;

static Extent extent_of(const Py_buffer *view)
{
    Extent extent = {(uintptr_t)view->buf, (uintptr_t)view->buf + (uintptr_t)view->itemsize};
    if (!view->strides) /* values that follow each other */
        extent.stop = extent.start + (uintptr_t)view->len;
    for (int k = 0; view->strides && k < view->ndim; k++) {
        if (view->shape[k] == 0)
            return (Extent){0, 0};
        const Py_ssize_t length = (view->shape[k] - 1) * view->strides[k];
        if (length < 0)
            extent.start -= (uintptr_t)-length;
        else
            extent.stop += (uintptr_t)length;
    }
    return extent;
}

static int is_written(const Call *call, Py_ssize_t view)
{
    int found = 0;
    for (int w = 0; w < call->written_count; w++)
        found = found || call->written[w] == view;
    return found;
}

/* What is written must not share memory with any other argument: indices that were checked would
 * change under the kernel. But a table that is read and continued may come twice. */
static int check_overlaps(const Call *call)
{
    for (int w = 0; w < call->written_count; w++) {
        const Extent own = extent_of(&call->views[call->written[w]]);
        for (Py_ssize_t k = 0; k < call->view_count; k++) {
            const Extent other = extent_of(&call->views[k]);
            if (k == call->written[w] || own.start >= other.stop || other.start >= own.stop)
                continue;
            if (own.start != other.start || own.stop != other.stop || !is_written(call, k))
                return refuse("an array that is written shares memory with another argument");
        }
    }
    return 0;
}

/* Memory for the buffers of all arguments. */
static int open_call(Call *call, PyObject *tuple)
{
    Py_ssize_t count = MOST_BUFFERS;
    for (Py_ssize_t k = 0; k < PyTuple_Size(tuple); k++) {
        PyObject *object = PyTuple_GetItem(tuple, k);
        count += PyList_Check(object) ? 2 * PyList_Size(object) : 0;
    }
    memset(call, 0, sizeof *call);
    for (int k = 0; k < 26; k++)
        call->lengths[k] = UNKNOWN;
    call->views = PyMem_Calloc((size_t)count, sizeof *call->views);
    if (!call->views)
        PyErr_NoMemory();
    return call->views ? 0 : -1;
}

static void close_call(Call *call)
{
    while (call->view_count > 0)
        PyBuffer_Release(&call->views[--call->view_count]);
    PyMem_Free(call->views);
    PyMem_Free(call->memory);
}

/* Read all arguments of a call. */
static int read_arguments(Call *call, const char *signature, PyObject *tuple)
{
    Py_ssize_t count = 0;
    for (const char *at = signature; *at;) {
        if (*at == ' ' || *at == '-' || *at == '>') {
            at++;
            continue;
        }
        if (count == MOST_ARGUMENTS)
            return refuse("a kernel has too many arguments");
        PyObject *object = PyTuple_GetItem(tuple, count);
        if (!object || read_argument(call, &at, object, &call->given[count]) < 0)
            return -1;
        count++;
    }
    if (PyTuple_Size(tuple) != count)
        return refuse("too many arguments");
    return check_overlaps(call);
}
