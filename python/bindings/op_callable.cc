// SPDX-License-Identifier: MIT
#include "op_callable.h"

#include <nanobind/stl/string.h>

#include <deque>
#include <new>

#include "repdl/cuda.h"
#include "repdl/error.h"
#include "repdl/threads.h"
#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

PyObject* threads_source = nullptr;  // asked at each call if set; never freed
bool threads_fixed = false;

/// How an argument is read; the schema types are text.
enum class Kind { kTensor, kMutatedTensor, kBool, kInt, kFloat, kIntList, kPair, kString };

struct Parameter {
  const ArgInfo* info;
  Kind kind;
  std::string c_name;
  PyObject* name;  // interned
};

struct Callable {
  const OpInfo* op;
  std::string name;  // zero-terminated
  std::vector<Parameter> parameters;
  PyMethodDef method;
};

Kind KindOf(std::string_view type) {
  if (type.starts_with("Tensor!")) return Kind::kMutatedTensor;
  if (type.starts_with("Tensor")) return Kind::kTensor;
  if (type.starts_with("int[2]")) return Kind::kPair;
  if (type.starts_with("int[")) return Kind::kIntList;
  if (type.starts_with("int")) return Kind::kInt;
  if (type.starts_with("bool")) return Kind::kBool;
  if (type.starts_with("float")) return Kind::kFloat;
  return Kind::kString;
}

[[noreturn]] void WrongType(const Callable& callable, const Parameter& parameter, const char* expected, PyObject* got) {
  PyErr_Clear();
  throw TypeError(
      Message('[', callable.name, "] ", parameter.c_name, " must be ", expected, ", got ", Py_TYPE(got)->tp_name));
}

int64_t ReadInt(const Callable& callable, const Parameter& parameter, PyObject* object, const char* expected) {
  if (PyFloat_Check(object)) WrongType(callable, parameter, expected, object);
  PyObject* index = PyNumber_Index(object);
  if (index == nullptr) WrongType(callable, parameter, expected, object);
  const int64_t value = PyLong_AsLongLong(index);
  Py_DECREF(index);
  if (value == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw ValueError(Message('[', callable.name, "] ", parameter.c_name, " does not fit in 64 bits"));
  }
  return value;
}

Value ReadArgument(const Callable& callable, const Parameter& parameter, PyObject* object, Tensors* tensors) {
  if (object == Py_None && parameter.info->IsOptional()) return std::monostate();
  switch (parameter.kind) {
    case Kind::kTensor:
    case Kind::kMutatedTensor: {
      if (tensors == nullptr) return ReadMeta(object);
      return tensors->Read(object, callable.name.c_str(), parameter.c_name, parameter.kind == Kind::kMutatedTensor);
    }
    case Kind::kBool: {
      if (!PyBool_Check(object)) WrongType(callable, parameter, "True or False", object);
      return object == Py_True;
    }
    case Kind::kInt: return ReadInt(callable, parameter, object, "an integer");
    case Kind::kFloat: {
      const double value = PyFloat_AsDouble(object);
      if (value == -1.0 && PyErr_Occurred() != nullptr) WrongType(callable, parameter, "a number", object);
      return value;
    }
    case Kind::kPair:
    case Kind::kIntList: {
      const char* expected = parameter.kind == Kind::kPair ? "an integer or a pair of integers" : "a tuple of integers";
      if (!PyTuple_Check(object) && !PyList_Check(object)) {
        const int64_t one = ReadInt(callable, parameter, object, expected);
        if (parameter.kind == Kind::kPair) return one;
        return IntList{one};
      }
      IntList list;
      const Py_ssize_t size = PySequence_Size(object);
      if (size > kMaxRank) {
        throw ValueError(Message('[', callable.name, "] ", parameter.c_name, " has ", size, " entries; at most ",
                                 kMaxRank, " are supported"));
      }
      for (Py_ssize_t i = 0; i < size; ++i) {
        nb::object item = nb::steal(PySequence_GetItem(object, i));
        list.Append(ReadInt(callable, parameter, item.ptr(), expected));
      }
      if (parameter.kind == Kind::kPair && list.size() != 1 && list.size() != 2) {
        throw ValueError(Message('[', callable.name, "] ", parameter.c_name,
                                 " must be an integer or a pair (height, width), got ", Name(list)));
      }
      return list;
    }
    case Kind::kString: {
      if (!PyUnicode_Check(object)) WrongType(callable, parameter, "a string", object);
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(object, &size);
      if (text == nullptr) throw PythonError();
      return std::string_view(text, static_cast<size_t>(size));
    }
  }
  throw std::logic_error("unknown kind of argument");
}

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
    Py_ssize_t at = 0;
    while (at < count && callable.parameters[at].name != name &&
           PyUnicode_Compare(callable.parameters[at].name, name) != 0) {
      ++at;
    }
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

PyObject* Call(const Callable& callable, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  if (threads_source != nullptr) SetNumThreads(CurrentThreads());
  Tensors tensors;
  const std::vector<Value> values = ReadArguments(callable, args, num_positional, names, &tensors);
  const Specs specs = callable.op->infer(values);
  std::array<TensorView, kMaxOutputs> views;
  std::array<nb::object, kMaxOutputs> outputs;
  for (int i = 0; i < specs.size; ++i) outputs[i] = tensors.Make(specs.spec[i], views[i]);
  {
    const CudaStreamScope stream(tensors.Stream());
    const nb::gil_scoped_release release;
    callable.op->run(values, std::span(views.data(), static_cast<size_t>(specs.size)));
  }
  if (specs.size == 0) Py_RETURN_NONE;
  if (specs.size == 1) return outputs[0].release().ptr();
  PyObject* tuple = PyTuple_New(specs.size);
  if (tuple == nullptr) throw PythonError();
  for (int i = 0; i < specs.size; ++i) PyTuple_SetItem(tuple, i, outputs[i].release().ptr());
  return tuple;
}

/// Runs `body` and turns C++ exceptions into Python's.
template <class Body>
PyObject* Guarded(const Body& body) {
  try {
    return body();
  } catch (const PythonError&) {
    return nullptr;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const TypeError& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const NotImplementedError& error) {
    PyErr_SetString(PyExc_NotImplementedError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

PyObject* CallFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto* callable = static_cast<const Callable*>(PyCapsule_GetPointer(self, nullptr));
  return Guarded([&] { return Call(*callable, args, num_positional, names); });
}

/// Lives as long as the process: Python may call an op until its very end.
Callable& Register(const OpInfo& op) {
  static auto* callables = new std::deque<Callable>();
  Callable& callable = callables->emplace_back();
  callable.op = &op;
  callable.name = op.name;
  for (const ArgInfo& arg : op.args) {
    callable.parameters.push_back(
        {&arg, KindOf(arg.type), std::string(arg.name), PyUnicode_InternFromString(std::string(arg.name).c_str())});
  }
  callable.method = {callable.name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&CallFromPython)),
                     METH_FASTCALL | METH_KEYWORDS, nullptr};
  return callable;
}

}  // namespace

nb::object MakeOpCallable(const OpInfo& op) {
  Callable& callable = Register(op);
  nb::object self = nb::steal(PyCapsule_New(&callable, nullptr, nullptr));
  return nb::steal(PyCFunction_NewEx(&callable.method, self.ptr(), nullptr));
}

nb::list InferOutputs(const OpInfo& op, const nb::args& args) {
  Callable callable{&op, std::string(op.name), {}, {}};
  for (const ArgInfo& arg : op.args)
    callable.parameters.push_back({&arg, KindOf(arg.type), std::string(arg.name), nullptr});
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

void SetThreadsSource(nb::object source) {
  if (!threads_fixed) threads_source = source.release().ptr();
}

void SetFixedThreads(int n) {
  SetNumThreads(n);
  threads_fixed = true;
  threads_source = nullptr;
}

int CurrentThreads() {
  if (threads_source == nullptr) return GetNumThreads();
  PyObject* number = PyObject_CallNoArgs(threads_source);
  if (number == nullptr) throw nb::python_error();
  const long n = PyLong_AsLong(number);
  Py_DECREF(number);
  if (n == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  return static_cast<int>(n);
}

}  // namespace repdl
