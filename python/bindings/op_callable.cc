// SPDX-License-Identifier: MIT
#include "op_callable.h"

#include <nanobind/stl/string.h>

#include "callable.h"
#include "repdl/cuda.h"
#include "repdl/error.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// Puts the given arguments into the order of the schema, with its defaults.
Arguments ReadArguments(const Callable& callable, PyObject* const* args, Py_ssize_t num_positional, PyObject* names,
                        Tensors* tensors) {
  const auto count = static_cast<Py_ssize_t>(callable.parameters.size());
  if (num_positional > count) {
    throw TypeError(Message('[', callable.name, "] takes ", count, " arguments, got ", num_positional));
  }
  Arguments read(callable);
  for (Py_ssize_t i = 0; i < num_positional; ++i) {
    ReadArgument(callable, callable.parameters[i], args[i], tensors, read.values[i]);
    read.given.set(i);
  }
  const Py_ssize_t num_named = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t n = 0; n < num_named; ++n) {
    PyObject* name = PyTuple_GetItem(names, n);
    const auto at = static_cast<Py_ssize_t>(callable.Find(name));
    const auto text = nb::cast<std::string>(nb::handle(name));
    if (at == count) throw TypeError(Message('[', callable.name, "] has no argument '", text, "'"));
    if (read.given[at]) throw TypeError(Message('[', callable.name, "] got ", text, " twice"));
    read.given.set(at);
    ReadArgument(callable, callable.parameters[at], args[num_positional + n], tensors, read.values[at]);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (read.given[i]) continue;
    const ArgInfo& info = *callable.parameters[i].info;
    if (!info.default_value) throw TypeError(Message('[', callable.name, "] needs the argument ", info.name));
    read.values[i] = *info.default_value;
  }
  return read;
}

PyObject* CallFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& callable = *static_cast<const Callable*>(PyCapsule_GetPointer(self, nullptr));
  return Guarded([&] {
    Tensors tensors;
    const Arguments read = ReadArguments(callable, args, num_positional, names, &tensors);
    Outputs outputs;
    outputs.Make(tensors, callable.op->infer(read.Values()));
    const CudaStreamScope stream(tensors.Stream());
    Run(*callable.op, read.Values(), outputs.Views());
    return outputs.Release();
  });
}

/// Results have dimension 1 as the last in memory.
PyObject* CallForChannelsLast(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& callable = *static_cast<const Callable*>(PyCapsule_GetPointer(self, nullptr));
  return Guarded([&] {
    Tensors tensors;
    const Arguments read = ReadArguments(callable, args, num_positional, names, &tensors);
    Specs specs = callable.op->infer(read.Values());
    Outputs outputs;
    outputs.size = specs.size;
    for (int i = 0; i < specs.size; ++i) {
      TensorSpec& spec = specs.spec[i];
      IntList order{0};
      for (int dim = 2; dim < spec.shape.size(); ++dim) order.Append(dim);
      order.Append(1);
      const TensorSpec inferred = spec;
      for (int dim = 0; dim < order.size(); ++dim) spec.shape[dim] = inferred.shape[static_cast<int>(order[dim])];
      TensorView made;
      outputs.objects[i] = tensors.Make(spec, made, &order);
      TensorView& view = outputs.views[i] = made;
      for (int dim = 0; dim < order.size(); ++dim) {
        view.shape[static_cast<int>(order[dim])] = made.shape[dim];
        view.strides[static_cast<int>(order[dim])] = made.strides[dim];
      }
    }
    const CudaStreamScope stream(tensors.Stream());
    Run(*callable.op, read.Values(), outputs.Views());
    return outputs.Release();
  });
}

}  // namespace

nb::object MakeChannelsLastCallable(const OpInfo& op) {
  auto* callable = new Callable(op);  // for MakeFunction
  return MakeFunction(callable->name.c_str(), &CallForChannelsLast, callable);
}

nb::object MakeOpCallable(const OpInfo& op) {
  auto* callable = new Callable(op);  // for MakeFunction
  return MakeFunction(callable->name.c_str(), &CallFromPython, callable);
}

nb::list InferOutputs(const OpInfo& op, const nb::args& args) {
  const Callable callable(op);
  std::vector<PyObject*> objects;
  for (nb::handle arg : args) objects.push_back(arg.ptr());
  const Arguments read =
      ReadArguments(callable, objects.data(), static_cast<Py_ssize_t>(objects.size()), nullptr, /*tensors=*/nullptr);
  const Specs specs = op.infer(read.Values());
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
