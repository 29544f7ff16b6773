// SPDX-License-Identifier: MIT
#include "python_math.h"

#include <map>

#include "repdl/c_math.h"
#include "replaced_import.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// By the code that each library holds.
std::map<const void*, ReplacedImports> libraries;

const std::vector<Import>& Imports() {
  static const auto imports = [] {
    std::vector<Import> found;
    for (const CFunction& function : CFunctions()) found.push_back({function.name, function.address});
    return found;
  }();
  return imports;
}

const void* CodeOf(PyObject* object) {
  if (PyCFunction_Check(object)) return reinterpret_cast<const void*>(PyCFunction_GetFunction(object));
  if (PyLong_Check(object)) return PyLong_AsVoidPtr(object);
  if (PyType_Check(object)) return PyType_GetSlot(reinterpret_cast<PyTypeObject*>(object), Py_nb_power);
  return nullptr;
}

}  // namespace

std::vector<std::vector<std::string>> ReplaceMath(const std::vector<nb::object>& objects) {
  std::vector<std::vector<std::string>> names;
  for (const nb::object& object : objects) {
    const void* const code = CodeOf(object.ptr());
    ReplacedImports& library = libraries.try_emplace(code, code, Imports()).first->second;
    std::vector<std::string>& taken = names.emplace_back();
    if (!library.Replace()) continue;
    for (size_t i = 0; i < Imports().size(); ++i) {
      if (library.found()[i]) taken.emplace_back(Imports()[i].name);
    }
  }
  return names;
}

void RestoreMath() {
  for (auto& [code, library] : libraries) library.Restore();
}

}  // namespace repdl
