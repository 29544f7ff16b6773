// SPDX-License-Identifier: MIT
#include "op_callable.h"

#include <nanobind/stl/string.h>

#include "callable.h"
#include "repdl/error.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// Puts the given arguments into the order of the schema, with its defaults.
std::vector<Value> ReadArguments(const Callable& callable, PyObject* const* args, Py_ssize_t num_positional,
                                 PyObject* names, Tensors* tensors) {
  const auto count = static_cast<Py_ssize_t>(callable.parameters.size());
  if (num_positional > count) {
    throw TypeError(Message('[', callable.name, "] takes ", count, " arguments, got ", num_positional));
  }
  std::vector<Value> values(callable.parameters.size());
  for (Py_ssize_t i = 0; i < num_positional; ++i) {
    values[i] = ReadArgument(callable, callable.parameters[i], args[i], tensors);
  }
  std::vector<bool> given(callable.parameters.size(), false);
  std::fill(given.begin(), given.begin() + num_positional, true);
  const Py_ssize_t num_named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t n = 0; n < num_named; ++n) {
    PyObject* name = PyTuple_GetItem(names, n);
    const auto at = static_cast<Py_ssize_t>(callable.Find(name));
    const auto text = nb::cast<std::string>(nb::handle(name));
    if (at == count) throw TypeError(Message('[', callable.name, "] has no argument '", text, "'"));
    if (given[at]) throw TypeError(Message('[', callable.name, "] got ", text, " twice"));
    given[at] = true;
    values[at] = ReadArgument(callable, callable.parameters[at], args[num_positional + n], tensors);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    const ArgInfo& info = *callable.parameters[i].info;
    if (!info.default_value) throw TypeError(Message('[', callable.name, "] needs the argument ", info.name));
    values[i] = *info.default_value;
  }
  return values;
}

PyObject* CallFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& callable = *static_cast<const Callable*>(PyCapsule_GetPointer(self, nullptr));
  return Guarded([&] {
    UpdateThreads();
    Tensors tensors;
    const std::vector<Value> values = ReadArguments(callable, args, num_positional, names, &tensors);
    Outputs outputs;
    outputs.Make(tensors, callable.op->infer(values));
    Run(*callable.op, values, tensors, outputs.Views());
    return outputs.Release();
  });
}

}  // namespace

nb::object MakeOpCallable(const OpInfo& op) {
  auto* callable = new Callable(op);  // for MakeFunction
  return MakeFunction(callable->name.c_str(), &CallFromPython, callable);
}

nb::list InferOutputs(const OpInfo& op, const nb::args& args) {
  const Callable callable(op);
  std::vector<PyObject*> objects;
  for (nb::handle arg : args) objects.push_back(arg.ptr());
  const auto values =
      ReadArguments(callable, objects.data(), static_cast<Py_ssize_t>(objects.size()), nullptr, /*tensors=*/nullptr);
  const Specs specs = op.infer(values);
  nb::list outputs;
  for (int i = 0; i < specs.size; ++i) {
    nb::list shape;
    for (int64_t size : specs.spec[i].shape) shape.append(size);
    const std::string dtype(Name(specs.spec[i].dtype));
    outputs.append(nb::make_tuple(dtype.c_str(), nb::tuple(shape)));
  }
  return outputs;
}

}  // namespace repdl
