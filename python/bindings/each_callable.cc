// SPDX-License-Identifier: MIT
#include "each_callable.h"

#include <algorithm>

#include "callable.h"
#include "repdl/cuda.h"
#include "repdl/held_launches.h"
#include "repdl/threads.h"

namespace nb = nanobind;

namespace repdl {
namespace {

struct EachCallable {
  PyObject* kernel;
  PyObject* fallback;
  Py_ssize_t first_named;
  std::vector<PyObject*> names;  // interned
  PyObject* changed;             // None for a kernel with results
};

/// The length of the lists among the arguments; -1 if they have none, or not all the same.
Py_ssize_t LengthOfLists(PyObject* const* args, Py_ssize_t count) {
  Py_ssize_t length = -1;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (!PyList_Check(args[i])) continue;
    const Py_ssize_t size = PyList_Size(args[i]);
    if (size == 0 || (length >= 0 && size != length)) return -1;
    length = size;
  }
  return length;
}

PyObject* CallFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& each = *static_cast<const EachCallable*>(PyCapsule_GetPointer(self, nullptr));
  const Py_ssize_t num_named = names == nullptr ? 0 : PyTuple_Size(names), count = num_positional + num_named;
  const Py_ssize_t length = LengthOfLists(args, count);
  const Py_ssize_t to_name = std::max<Py_ssize_t>(num_positional - each.first_named, 0);
  if (length < 0 || to_name > static_cast<Py_ssize_t>(each.names.size())) {
    return PyObject_Vectorcall(each.fallback, args, static_cast<size_t>(num_positional), names);
  }
  return Guarded([&]() -> PyObject* {
    nb::object all_names = nb::borrow(names);
    if (to_name > 0) {
      all_names = nb::steal(PyTuple_New(to_name + num_named));
      for (Py_ssize_t i = 0; i < to_name + num_named; ++i) {
        PyObject* name = i < to_name ? each.names[static_cast<size_t>(i)] : PyTuple_GetItem(names, i - to_name);
        Py_INCREF(name);
        PyTuple_SetItem(all_names.ptr(), i, name);
      }
    }
    const bool in_place = each.changed != Py_None;
    nb::object results = nb::none();
    if (!in_place) results = nb::steal(PyList_New(length));
    std::vector<PyObject*> items(args, args + count);  // borrowed
    for (Py_ssize_t i = 0; i < length; ++i) {
      for (Py_ssize_t at = 0; at < count; ++at) {
        if (PyList_Check(args[at])) items[static_cast<size_t>(at)] = PyList_GetItem(args[at], i);
      }
      PyObject* result = PyObject_Vectorcall(each.kernel, items.data(), static_cast<size_t>(num_positional - to_name),
                                             all_names.ptr());
      if (result == nullptr) return nullptr;
      if (in_place) {
        Py_DECREF(result);
      } else {
        PyList_SetItem(results.ptr(), i, result);
      }
    }
    if (in_place) {
      PyObject* told = PyObject_Vectorcall(each.changed, args, 1, nullptr);
      if (told == nullptr) return nullptr;
      Py_DECREF(told);
    }
    return results.release().ptr();
  });
}

struct EachOp {
  Callable callable;
  PyObject* changed;
  PyObject* fallback;
};

PyObject* CallOpFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& each = *static_cast<const EachOp*>(PyCapsule_GetPointer(self, nullptr));
  const Callable& callable = each.callable;
  const Py_ssize_t length = LengthOfLists(args, num_positional);
  if (length < 0 || names != nullptr || num_positional != static_cast<Py_ssize_t>(callable.parameters.size())) {
    return PyObject_Vectorcall(each.fallback, args, static_cast<size_t>(num_positional), names);
  }
  return Guarded([&]() -> PyObject* {
    Tensors tensors(/*below_dispatcher=*/true);
    Arguments read(callable);
    std::vector<size_t> of_lists;
    for (size_t at = 0; at < read.size; ++at) {
      if (PyList_Check(args[at])) {
        of_lists.push_back(at);
      } else {
        ReadArgument(callable, callable.parameters[at], args[at], &tensors, read.values[at]);
      }
    }
    std::vector<Value> items;
    items.reserve(static_cast<size_t>(length) * of_lists.size());
    for (Py_ssize_t i = 0; i < length; ++i) {
      for (size_t at : of_lists) {
        ReadArgument(callable, callable.parameters[at], PyList_GetItem(args[at], i), &tensors, items.emplace_back());
      }
    }
    {
      const CudaStreamScope stream(tensors.Stream());
      SetNumThreads(CurrentThreads());
      const nb::gil_scoped_release release;
      HeldLaunches steps;
      for (auto item = items.begin(); item != items.end();) {
        for (size_t at : of_lists) read.values[at] = *item++;
        callable.op->run(read.Values(), {});
      }
      steps.Start();
    }
    return PyObject_Vectorcall(each.changed, args, 1, nullptr);
  });
}

}  // namespace

nb::object MakeEachOp(const OpInfo& op, const nb::object& changed, const nb::object& fallback) {
  // It and the objects that it holds live as long as the process.
  auto* each = new EachOp{Callable(op), changed.inc_ref().ptr(), fallback.inc_ref().ptr()};
  return MakeFunction(each->callable.name.c_str(), &CallOpFromPython, each);
}

nb::object MakeEachCallable(const nb::object& kernel, Py_ssize_t first_named, const std::vector<std::string>& names,
                            const nb::object& changed, const nb::object& fallback) {
  // It and the objects that it holds live as long as the process.
  auto* each =
      new EachCallable{kernel.inc_ref().ptr(), fallback.inc_ref().ptr(), first_named, {}, changed.inc_ref().ptr()};
  for (const std::string& name : names) each->names.push_back(PyUnicode_InternFromString(name.c_str()));
  return MakeFunction("each", &CallFromPython, each);
}

}  // namespace repdl
