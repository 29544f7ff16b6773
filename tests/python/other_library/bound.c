// SPDX-License-Identifier: MIT
// An extension module whose functions take tensors and compute by themselves, as those that pybind11 makes: each is bound
// to an object that is not the module.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyObject* THPVariableClass;  // of torch

// Adds a third to each number of a packed float32 tensor, in its memory.
static PyObject* AddThird(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* tensor;
  if (!PyArg_ParseTuple(args, "O!", (PyTypeObject*)THPVariableClass, &tensor)) return NULL;
  PyObject* address = PyObject_CallMethod(tensor, "data_ptr", NULL);
  PyObject* count = PyObject_CallMethod(tensor, "numel", NULL);
  if (address == NULL || count == NULL) return NULL;
  float* numbers = PyLong_AsVoidPtr(address);
  for (long i = 0; i < PyLong_AsLong(count); ++i) numbers[i] += 1.0f / 3.0f;
  Py_DECREF(address);
  Py_DECREF(count);
  return Py_NewRef(tensor);
}

static PyObject* Kept = NULL;

static PyObject* Keep(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* names;
  if (!PyArg_ParseTuple(args, "O", &names)) return NULL;
  Py_XSETREF(Kept, Py_NewRef(names));
  Py_RETURN_NONE;
}

// What was kept: a tensor that no argument shows.
static PyObject* Take(PyObject* self, PyObject* args, PyObject* kwargs) { return Py_NewRef(Kept); }

static PyObject* Doubled(PyObject* self, PyObject* args, PyObject* kwargs) {
  long number;
  return PyArg_ParseTuple(args, "l", &number) ? PyLong_FromLong(2 * number) : NULL;
}

#define BOTH METH_VARARGS | METH_KEYWORDS
static PyMethodDef functions[] = {
    {"add_third", (PyCFunction)(void (*)(void))AddThird, BOTH, "Adds a third."},
    {"keep", (PyCFunction)(void (*)(void))Keep, BOTH, NULL},
    {"take", (PyCFunction)(void (*)(void))Take, BOTH, NULL},
    {"doubled", (PyCFunction)(void (*)(void))Doubled, BOTH, NULL},
};

static int Bind(PyObject* module) {
  static int record;
  PyObject* capsule = PyCapsule_New(&record, NULL, NULL);
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    PyModule_AddObject(module, functions[i].ml_name, PyCFunction_New(&functions[i], capsule));
  }
  Py_DECREF(capsule);
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, Bind}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "repdl_test_bound", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_repdl_test_bound(void) { return PyModuleDef_Init(&definition); }

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&definition); }
