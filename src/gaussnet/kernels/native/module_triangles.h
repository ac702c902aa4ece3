/* Arguments of the kernels for triangles; a part of module.c. */

/* Arguments families, products, lost, uppers. */
static PyObject *call_upper_triangles(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *tuple, *products_array, *lost_array, *uppers_array;
    Families families;
    const double *products;
    const unsigned char *lost;
    double *uppers;
    Py_ssize_t squares = 0;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "O!OOO", &PyTuple_Type, &tuple, &products_array, &lost_array,
                          &uppers_array))
        return NULL;
    if (hold_families(&held, tuple, PY_SSIZE_T_MAX, &families) == 0) {
        for (ptrdiff_t f = 0; f < families.count; f++)
            squares += family_size(&families, f) * family_size(&families, f);
        if ((products = hold_values(&held, products_array, "d", products_of(&families), 0, NULL)) &&
            (lost = hold_values(&held, lost_array, "?B", families.count, 0, NULL)) &&
            (uppers = hold_out(&held, uppers_array, squares)))
            status = kernels->upper_triangles(&families, products, lost, uppers);
    }
    return finish(&held, status);
}

/* Arguments size, uppers, right, out. */
static PyObject *call_solve_triangles(PyObject *self, PyObject *arguments)
{
    (void)self;
    Held held = {.count = 0};
    PyObject *uppers_array, *right_array, *out_array;
    const double *uppers, *right;
    double *out;
    Py_ssize_t size, values;
    int status = 0;
    if (!PyArg_ParseTuple(arguments, "nOOO", &size, &uppers_array, &right_array, &out_array))
        return NULL;
    if ((right = hold_values(&held, right_array, "d", -1, 0, &values)) &&
        (uppers = hold_values(&held, uppers_array, "d", values * size, 0, NULL)) &&
        (out = hold_out(&held, out_array, values))) {
        if (size < 1 || values % size)
            PyErr_SetString(PyExc_ValueError, "expected whole systems of at least one row");
        else
            status = kernels->solve_triangles(values / size, size, uppers, right, out);
    }
    return finish(&held, status);
}
