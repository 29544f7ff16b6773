// SPDX-License-Identifier: MIT
// A small library for torch, and an extension module: the op MODULE::same, or with LATE kernels for ops of ops.cc. Their
// kernels give the tensor that they get.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

typedef uint64_t Value;
typedef void* Library;
int32_t aoti_torch_library_init_def(const char* ns, const char* file, uint32_t line, Library* library);
int32_t aoti_torch_library_init_impl(const char* ns, const char* key, const char* file, uint32_t line, Library* library);
int32_t aoti_torch_library_def(Library library, const char* schema);
int32_t aoti_torch_library_impl(Library library, const char* name, void (*kernel)(Value*, uint64_t, uint64_t));

static void Same(Value* stack, uint64_t inputs, uint64_t outputs) {}

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)

__attribute__((constructor)) static void Register(void) {
  Library library;
#ifdef LATE
  aoti_torch_library_init_impl("repdl_test", "CPU", __FILE__, __LINE__, &library);
  aoti_torch_library_impl(library, "replaced", Same);
  aoti_torch_library_impl(library, "without_kernel", Same);
#elif defined(REPLACING)  // kernels of torch
  aoti_torch_library_init_impl("aten", "CPU", __FILE__, __LINE__, &library);
  aoti_torch_library_impl(library, "deg2rad", Same);
  aoti_torch_library_impl(library, "exp", Same);
#else
  aoti_torch_library_init_def(TEXT(MODULE), __FILE__, __LINE__, &library);
  aoti_torch_library_def(library, "same(Tensor x) -> Tensor");
  aoti_torch_library_init_impl(TEXT(MODULE), "CPU", __FILE__, __LINE__, &library);
  aoti_torch_library_impl(library, "same", Same);
#endif
}

#define INIT_(name) PyInit_##name
#define INIT(name) INIT_(name)
PyMODINIT_FUNC INIT(MODULE)(void) {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT, TEXT(MODULE), NULL, -1, NULL, NULL, NULL, NULL, NULL};
  return PyModule_Create(&definition);
}
