// SPDX-License-Identifier: MIT
#include "callable.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <climits>
#include <deque>
#include <new>

#include "drivers/widened_op.h"
#include "repdl/error.h"
#include "repdl/threads.h"

namespace nb = nanobind;

namespace repdl {
namespace {

PyObject* threads_source = nullptr;  // asked at each call if set; never freed
bool threads_fixed = false;

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

double ReadFloat(const Callable& callable, const Parameter& parameter, PyObject* object) {
  if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
  if (!PyLong_Check(object)) {
    if (const std::optional<double> number = NumberOfTensor(object)) return *number;
  }
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) WrongType(callable, parameter, "a number", object);
  return value;
}

}  // namespace

void ReadArgument(const Callable& callable, const Parameter& parameter, PyObject* object, Tensors* tensors,
                  Value& value) {
  if (object == Py_None && parameter.info->IsOptional()) {
    value = std::monostate();
    return;
  }
  switch (parameter.kind) {
    case Kind::kTensor:
    case Kind::kMutatedTensor: {
      if (tensors == nullptr) {
        value = ReadMeta(object);
        return;
      }
      return tensors->Read(object, callable.name.c_str(), parameter.c_name, parameter.kind == Kind::kMutatedTensor,
                           value.emplace<TensorView>());
    }
    case Kind::kBool: {
      if (!PyBool_Check(object)) WrongType(callable, parameter, "True or False", object);
      value = object == Py_True;
      return;
    }
    case Kind::kInt: {
      value = ReadInt(callable, parameter, object, "an integer");
      return;
    }
    case Kind::kFloat: {
      value = ReadFloat(callable, parameter, object);
      return;
    }
    case Kind::kPair:
    case Kind::kIntList: {
      const char* expected = parameter.kind == Kind::kPair ? "an integer or a pair of integers" : "a tuple of integers";
      if (!PyTuple_Check(object) && !PyList_Check(object)) {
        const int64_t one = ReadInt(callable, parameter, object, expected);
        if (parameter.kind == Kind::kPair) {
          value = one;
        } else {
          value.emplace<IntList>().Append(one);
        }
        return;
      }
      auto& list = value.emplace<IntList>();
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
      return;
    }
    case Kind::kString: {
      if (!PyUnicode_Check(object)) WrongType(callable, parameter, "a string", object);
      Py_ssize_t size = 0;
      const char* text = PyUnicode_AsUTF8AndSize(object, &size);
      if (text == nullptr) throw PythonError();
      value = std::string_view(text, static_cast<size_t>(size));
      return;
    }
  }
  throw std::logic_error("unknown kind of argument");
}

Callable::Callable(const OpInfo& op) : op(&op), name(op.name) {
  for (const ArgInfo& arg : op.args) {
    const std::string text(arg.name);
    PyObject* const object = PyUnicode_InternFromString(text.c_str());
    parameters.push_back({&arg, KindOf(arg.type), text, object, PyObject_Hash(object)});
  }
}

size_t Callable::Find(PyObject* argument_name) const {
  const Py_hash_t hash = PyObject_Hash(argument_name);  // which strings keep
  size_t at = 0;
  while (at < parameters.size() &&
         (parameters[at].hash != hash || PyUnicode_Compare(parameters[at].name, argument_name) != 0)) {
    ++at;
  }
  return at;
}

void Outputs::Make(Tensors& tensors, const Specs& specs, const IntList* order, bool pairs) {
  size = specs.size;
  for (int i = 0; i < size; ++i) objects[i] = tensors.Make(specs.spec[i], views[i], order, pairs);
}

PyObject* Outputs::Release() {
  if (size == 0) Py_RETURN_NONE;
  if (size == 1) return objects[0].release().ptr();
  PyObject* tuple = PyTuple_New(size);
  if (tuple == nullptr) throw PythonError();
  for (int i = 0; i < size; ++i) PyTuple_SetItem(tuple, i, objects[i].release().ptr());
  return tuple;
}

bool IsSmall(std::span<const Value> values, std::span<const TensorView> outputs) {
  constexpr int64_t kSmall = 256;
  const auto is_small = [](const TensorView& tensor) { return tensor.numel() <= kSmall; };
  return std::ranges::all_of(outputs, is_small) && std::ranges::all_of(values, [&](const Value& value) {
           const auto* tensor = std::get_if<TensorView>(&value);
           return tensor == nullptr || is_small(*tensor);
         });
}

static void RunOp(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs,
                  std::optional<DType> low) {
  return low ? RunWidened(op, values, outputs, *low) : op.run(values, outputs);
}

void Run(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs,
         std::optional<DType> low) {
  if (IsSmall(values, outputs)) return RunOp(op, values, outputs, low);  // on one thread
  if (threads_source != nullptr) SetNumThreads(CurrentThreads());
  const nb::gil_scoped_release release;
  RunOp(op, values, outputs, low);
}

void RunOutside(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs,
                std::optional<DType> low) {
  if (IsSmall(values, outputs)) return RunOp(op, values, outputs, low);
  if (PyGILState_Check() != 0) return Run(op, values, outputs, low);
  {
    const nb::gil_scoped_acquire gil;
    if (threads_source != nullptr) SetNumThreads(CurrentThreads());
  }
  RunOp(op, values, outputs, low);
}

void SetPythonErrorFromException() {
  try {
    throw;
  } catch (const PythonError&) {
    return;
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
}

nb::object MakeFunction(const char* name, VectorCall call, void* data) {
  static auto* methods = new std::deque<PyMethodDef>();
  PyMethodDef& method = methods->emplace_back();
  method = {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(call)), METH_FASTCALL | METH_KEYWORDS, nullptr};
  nb::object self = nb::steal(PyCapsule_New(data, nullptr, nullptr));
  return nb::steal(PyCFunction_NewEx(&method, self.ptr(), nullptr));
}

void SetThreadsSource(nb::object source) {
  if (!threads_fixed) threads_source = source.release().ptr();
}

void SetFixedThreads(nb::handle n) {
  if (PyBool_Check(n.ptr()) || PyIndex_Check(n.ptr()) == 0) {
    throw TypeError(Message("[set_num_threads] n must be an integer, got ", Py_TYPE(n.ptr())->tp_name));
  }
  const Py_ssize_t number = PyNumber_AsSsize_t(n.ptr(), nullptr);  // the nearest one there is
  if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  SetNumThreads(static_cast<int>(std::clamp<Py_ssize_t>(number, INT_MIN, INT_MAX)));
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
