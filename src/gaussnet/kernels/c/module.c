/* The Python module: reads the arguments, lets go of the interpreter, calls a kernel. */
#include "arguments.h"

static const Build *build = &baseline_build;

#define KERNEL_SIGNATURE(name, signature) signature,
static const char *const signatures[] = {EVERY_KERNEL(KERNEL_SIGNATURE)};

/* Call a kernel; gives the number that it found. */
static PyObject *call_kernel(int number, PyObject *tuple)
{
    Call call;
    ptrdiff_t found = 0;
    if (open_call(&call, tuple) < 0)
        return NULL;
    if (read_arguments(&call, signatures[number], tuple) == 0) {
        Py_BEGIN_ALLOW_THREADS
        found = build->kernels[number](call.given);
        Py_END_ALLOW_THREADS
    }
    close_call(&call);
    if (PyErr_Occurred())
        return NULL;
    if (found == NO_MEMORY)
        return PyErr_NoMemory();
    if (found == REFUSED)
        refuse("the arguments contradict each other");
    return found < 0 ? NULL : PyLong_FromSsize_t(found);
}

/* The builds that this processor can run, best first; NULL at the end. */
static const Build *const *runnable(void)
{
    static const Build *found[3];
    int count = 0;
#ifdef GAUSSNET_HAS_AVX2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        found[count++] = &avx2_build;
#endif
    found[count++] = &baseline_build;
    found[count] = NULL;
    return found;
}

static PyObject *call_builds(PyObject *self, PyObject *nothing)
{
    (void)self;
    (void)nothing;
    PyObject *names = PyList_New(0);
    for (const Build *const *one = runnable(); names && *one; one++) {
        PyObject *name = PyUnicode_FromString((*one)->name);
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
    for (const Build *const *one = runnable(); *one; one++)
        if (strcmp((*one)->name, name) == 0) {
            build = *one;
            Py_RETURN_NONE;
        }
    return PyErr_Format(PyExc_ValueError, "this processor cannot run a build named %s", name);
}

static PyObject *call_tile_rows(PyObject *self, PyObject *arguments)
{
    (void)self;
    Py_ssize_t columns;
    int for_windows;
    if (!PyArg_ParseTuple(arguments, "np", &columns, &for_windows))
        return NULL;
    return PyLong_FromSsize_t(tile_rows(columns, for_windows));
}

#define KERNEL_CALL(name, signature) \
    static PyObject *call_##name(PyObject *self, PyObject *tuple) \
    { \
        (void)self; \
        return call_kernel(NUMBER_##name, tuple); \
    }
EVERY_KERNEL(KERNEL_CALL)

#define KERNEL_METHOD(name, signature) {#name, call_##name, METH_VARARGS, signature},
static PyMethodDef methods[] = {
    EVERY_KERNEL(KERNEL_METHOD)
    {"builds", call_builds, METH_NOARGS, "Names of the builds this processor can run, best first."},
    {"use_build", call_use_build, METH_VARARGS, "Switch to the build of this name."},
    {"tile_rows", call_tile_rows, METH_VARARGS, "Rows of a tile of so many columns."},
    {NULL, NULL, 0, NULL},
};

static int choose_best(PyObject *module)
{
    (void)module;
    build = runnable()[0];
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
