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

// The same as a method, whose first argument is the object.
static PyObject* AddThirdTo(PyObject* self, PyObject* args, PyObject* kwargs) {
  PyObject* others = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
  PyObject* result = others == NULL ? NULL : AddThird(self, others, kwargs);
  Py_XDECREF(others);
  return result;
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

static PyMethodDef method = {"add_third", (PyCFunction)(void (*)(void))AddThirdTo, BOTH, "Adds a third."};

// A class with a method and a static one, as pybind11 makes them.
static int BindClass(PyObject* module, PyObject* capsule) {
  PyObject* made = PyObject_CallFunction((PyObject*)&PyType_Type, "s(O){}", "Adder", &PyBaseObject_Type);
  if (made == NULL) return -1;
  PyObject_SetAttrString(made, "__module__", PyModule_GetNameObject(module));
  PyObject_SetAttrString(made, "add_third", PyInstanceMethod_New(PyCFunction_New(&method, capsule)));
  PyObject_SetAttrString(made, "added", PyStaticMethod_New(PyCFunction_New(&functions[0], capsule)));
  return PyModule_AddObject(module, "Adder", made);
}

static int BindInner(PyObject* module, PyObject* capsule) {
  PyObject* inner = PyModule_New("inner");
  PyObject* name = PyUnicode_FromFormat("%U.inner", PyModule_GetNameObject(module));
  PyObject_SetAttrString(inner, "__name__", name);
  PyModule_AddObject(inner, "add_third", PyCFunction_New(&functions[0], capsule));
  return PyModule_AddObject(module, "inner", inner);
}

static int Bind(PyObject* module) {
  static int record;
  PyObject* capsule = PyCapsule_New(&record, NULL, NULL);
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); ++i) {
    PyModule_AddObject(module, functions[i].ml_name, PyCFunction_New(&functions[i], capsule));
  }
  if (BindClass(module, capsule) != 0 || BindInner(module, capsule) != 0) return -1;
  Py_DECREF(capsule);
  return 0;
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, Bind}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "repdl_test_bound", NULL, 0, NULL, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_repdl_test_bound(void) { return PyModuleDef_Init(&definition); }

PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&definition); }
