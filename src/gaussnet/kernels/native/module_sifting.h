/* Arguments of the kernels that sift; a part of module.c. */

static PyObject *call_tile_rows(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_ssize_t columns;
    int for_windows;
    if (!PyArg_ParseTuple(arguments, "np", &columns, &for_windows))
        return NULL;
    return PyLong_FromSsize_t(kernels->tile_rows(columns, for_windows));
}

/* A sieve of `rows` rows from the tuple (lows, highs, below, above, kept, starts), filled
 * in `tiles` tiles. */
static int hold_sieve(Held *held, PyObject *tuple, Py_ssize_t rows, Py_ssize_t tiles,
                      Sieve *sieve)
{
    PyObject *lows, *highs, *below, *above, *kept, *starts;
    Py_ssize_t room;
    if (!PyArg_ParseTuple(tuple, "OOOOOO", &lows, &highs, &below, &above, &kept, &starts))
        return -1;
    *sieve = (Sieve){.runs = 0};
    if (!(sieve->lows = hold_values(held, lows, "d", rows, 0, NULL)) ||
        !(sieve->highs = hold_values(held, highs, "d", rows, 0, NULL)) ||
        !(sieve->below = hold_values(held, below, "lq", rows, 1, NULL)) ||
        !(sieve->above = hold_values(held, above, "lq", rows, 1, NULL)) ||
        !(sieve->kept = hold_values(held, kept, "d", -1, 1, &room)) ||
        !(sieve->starts = hold_values(held, starts, "lq", rows * tiles + 1, 1, NULL)))
        return -1;
    sieve->room = room;
    sieve->starts[0] = 0;
    memset(sieve->below, 0, (size_t)rows * sizeof *sieve->below);
    memset(sieve->above, 0, (size_t)rows * sizeof *sieve->above);
    return 0;
}

static Py_ssize_t tiles_of(Py_ssize_t rows, Py_ssize_t columns, int for_windows)
{
    const Py_ssize_t height = kernels->tile_rows(columns, for_windows);
    return (greater(rows, 0) + height - 1) / height;
}

/* A draw from `rows` rows by None or the tuple (places, stride, values). */
static int hold_draw(Held *held, PyObject *tuple, Py_ssize_t rows, Draw *draw)
{
    PyObject *places, *values;
    *draw = (Draw){.count = 0, .stride = 1};
    if (tuple == Py_None)
        return 0;
    if (!PyArg_ParseTuple(tuple, "OnO", &places, &draw->stride, &values))
        return -1;
    if (draw->stride < 1) {
        PyErr_SetString(PyExc_ValueError, "a stride is at least 1");
        return -1;
    }
    return (draw->places = hold_values(held, places, "lq", -1, 0, &draw->count)) &&
                   (draw->values = hold_out(held, values, rows * draw->count))
               ? 0
               : -1;
}

/* Arguments page, families, start, stop, sliding, centre, turns or None, draw or None, sieve. */
static PyObject *call_sift_solutions(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *page_array, *tuple, *turns_array, *draw_tuple, *sieve_tuple;
    Matrix page;
    Families families;
    Windows windows = {.extra_rows = 0};
    Draw draw;
    Sieve sieve;
    const double *turns = NULL;
    Py_ssize_t squares = 0;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!nnppOOO!", &page_array, &PyTuple_Type, &tuple,
                          &windows.start, &windows.stop, &windows.sliding, &windows.centre,
                          &turns_array, &draw_tuple, &PyTuple_Type, &sieve_tuple))
        return NULL;
    if (windows.start < 0 || windows.stop < 0) {
        PyErr_SetString(PyExc_ValueError, "start and stop are at least 0");
        return NULL;
    }
    if (hold_matrix(&held, page_array, "df", 0, &page) == 0 &&
        hold_families(&held, tuple, page.columns, &families) == 0) {
        for (ptrdiff_t f = 0; f < families.count; f++)
            squares += family_size(&families, f) * family_size(&families, f);
        const Py_ssize_t rows = smaller(windows.stop, page.rows) - windows.start;
        if ((turns_array == Py_None ||
             (turns = hold_values(&held, turns_array, "d", squares, 0, NULL))) &&
            hold_draw(&held, draw_tuple, edges_of(&families), &draw) == 0 &&
            hold_sieve(&held, sieve_tuple, edges_of(&families),
                       tiles_of(rows, page.columns, 1), &sieve) == 0) {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->sift_solutions(&page, &families, &windows, turns,
                                             draw.count ? &draw : NULL, &sieve);
            Py_END_ALLOW_THREADS
        }
    }
    return finish(&held, status);
}

/* Arguments x, families, coefficients, centres or None, sieve. */
static PyObject *call_sift_residuals(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *x_array, *tuple, *coefficients_array, *centres_array, *sieve_tuple;
    Matrix x;
    Families families;
    Sieve sieve;
    const double *coefficients, *centres = NULL;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "OO!OOO!", &x_array, &PyTuple_Type, &tuple,
                          &coefficients_array, &centres_array, &PyTuple_Type, &sieve_tuple))
        return NULL;
    if (hold_matrix(&held, x_array, "df", 0, &x) == 0 &&
        hold_families(&held, tuple, x.columns, &families) == 0 &&
        (coefficients = hold_values(&held, coefficients_array, "d", edges_of(&families), 0,
                                    NULL)) &&
        (centres_array == Py_None ||
         (centres = hold_values(&held, centres_array, "d", families.count, 0, NULL))) &&
        hold_sieve(&held, sieve_tuple, families.count, tiles_of(x.rows, x.columns, 0),
                   &sieve) == 0) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->sift_residuals(&x, &families, coefficients, centres, &sieve);
        Py_END_ALLOW_THREADS
    }
    return finish(&held, status);
}

/* What a call holds of the parts that were sifted. */
typedef struct {
    Held *held; /* two buffers each */
    const double **kept;
    const int64_t **starts;
    ptrdiff_t *tiles;
    Py_ssize_t count;
} HeldSifted;

static void release_sifted(HeldSifted *own)
{
    for (Py_ssize_t k = 0; k < own->count; k++)
        release(&own->held[k]);
    PyMem_Free(own->held);
    PyMem_Free((void *)own->kept);
    PyMem_Free((void *)own->starts);
    PyMem_Free(own->tiles);
}

/* One part: a tuple (kept, starts) of whole tiles of `rows` runs. */
static int hold_part(HeldSifted *own, PyObject *part, Py_ssize_t rows, Py_ssize_t k)
{
    PyObject *kept_array, *starts_array;
    Py_ssize_t room, length;
    if (!PyArg_ParseTuple(part, "OO", &kept_array, &starts_array) ||
        !(own->kept[k] = hold_values(&own->held[k], kept_array, "d", -1, 0, &room)) ||
        !(own->starts[k] = hold_values(&own->held[k], starts_array, "lq", -1, 0, &length)))
        return -1;
    const int64_t *starts = own->starts[k];
    int sound = length > 0 && (rows > 0 ? (length - 1) % rows == 0 : length == 1) &&
                starts[0] >= 0 && starts[length - 1] <= room;
    for (Py_ssize_t run = 1; sound && run < length; run++)
        sound = starts[run - 1] <= starts[run];
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "runs point outside the kept values or each other");
    own->tiles[k] = sound && rows > 0 ? (length - 1) / rows : 0;
    return sound ? 0 : -1;
}

static int hold_sifted(HeldSifted *own, PyObject *list, Py_ssize_t rows, Sifted *sifted)
{
    const Py_ssize_t count = PyList_Size(list);
    own->held = PyMem_Calloc((size_t)count + 1, sizeof *own->held);
    own->kept = PyMem_Calloc((size_t)count + 1, sizeof *own->kept);
    own->starts = PyMem_Calloc((size_t)count + 1, sizeof *own->starts);
    own->tiles = PyMem_Calloc((size_t)count + 1, sizeof *own->tiles);
    *sifted = (Sifted){count, rows, own->kept, own->starts, own->tiles};
    if (!own->held || !own->kept || !own->starts || !own->tiles) {
        PyErr_NoMemory();
        return -1;
    }
    own->count = count;
    for (Py_ssize_t k = 0; k < count; k++)
        if (hold_part(own, PyList_GetItem(list, k), rows, k) < 0)
            return -1;
    return 0;
}

/* Arguments parts, low_ranks, high_ranks, at_low, at_high. */
static PyObject *call_sifted_ranks(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    HeldSifted own = {.count = 0};
    PyObject *list, *lows_array, *highs_array, *at_low_array, *at_high_array;
    Sifted sifted;
    const int64_t *lows, *highs;
    double *at_low, *at_high;
    Py_ssize_t rows;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOOO", &PyList_Type, &list, &lows_array, &highs_array,
                          &at_low_array, &at_high_array))
        return NULL;
    if ((lows = hold_values(&held, lows_array, "lq", -1, 0, &rows)) &&
        (highs = hold_values(&held, highs_array, "lq", rows, 0, NULL)) &&
        (at_low = hold_out(&held, at_low_array, rows)) &&
        (at_high = hold_out(&held, at_high_array, rows)) &&
        hold_sifted(&own, list, rows, &sifted) == 0) {
        Py_BEGIN_ALLOW_THREADS
        status = kernels->sifted_ranks(&sifted, lows, highs, at_low, at_high);
        Py_END_ALLOW_THREADS
    }
    release_sifted(&own);
    return finish(&held, status);
}

/* Arguments parts, lows, highs, counts, largest, kept, kept_starts. */
static PyObject *call_split_sifted(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    HeldSifted own = {.count = 0};
    PyObject *list, *arrays[6];
    Brackets brackets;
    Sifted sifted;
    Py_ssize_t rows, count = 0;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOOOOO", &PyList_Type, &list, &arrays[0], &arrays[1],
                          &arrays[2], &arrays[3], &arrays[4], &arrays[5]))
        return NULL;
    if ((brackets.lows = hold_values(&held, arrays[0], "d", -1, 0, &rows)) &&
        (brackets.highs = hold_values(&held, arrays[1], "d", rows, 0, NULL)) &&
        hold_sifted(&own, list, rows, &sifted) == 0) {
        for (ptrdiff_t k = 0; k < sifted.count; k++)
            count += (Py_ssize_t)(sifted.starts[k][sifted.tiles[k] * rows] - sifted.starts[k][0]);
        if ((brackets.counts = hold_values(&held, arrays[2], "lq", 4 * rows, 1, NULL)) &&
            (brackets.largest = hold_out(&held, arrays[3], rows)) &&
            (brackets.kept = hold_out(&held, arrays[4], count + MOST_LANES)) &&
            (brackets.kept_starts = hold_values(&held, arrays[5], "lq", rows + 1, 1, NULL))) {
            Py_BEGIN_ALLOW_THREADS
            status = kernels->split_sifted(&sifted, &brackets);
            Py_END_ALLOW_THREADS
        }
    }
    release_sifted(&own);
    return finish(&held, status);
}
