// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <bitset>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "repdl/op.h"
#include "tensors.h"

// What Python callables of ops share: how arguments are read and errors told.

namespace repdl {

/// How an argument is read; the schema types are text.
enum class Kind { kTensor, kMutatedTensor, kBool, kInt, kFloat, kIntList, kPair, kString };

struct Parameter {
  const ArgInfo* info;
  Kind kind;
  std::string c_name;
  PyObject* name;
  Py_hash_t hash;  // of the name

  bool IsTensor() const { return kind == Kind::kTensor || kind == Kind::kMutatedTensor; }
};

struct Callable {
  const OpInfo* op;
  std::string name;  // zero-terminated
  std::vector<Parameter> parameters;

  explicit Callable(const OpInfo& op);
  /// The place of the argument of that name; the number of parameters if there is none.
  size_t Find(PyObject* argument_name) const;
};

/// Room for values, of which the first few are made: to make all of them takes time.
class ValueList {
 public:
  explicit ValueList(size_t size) { std::uninitialized_default_construct_n(begin(), size); }

  Value* begin() { return std::launder(reinterpret_cast<Value*>(memory_)); }
  const Value* begin() const { return std::launder(reinterpret_cast<const Value*>(memory_)); }
  Value& operator[](size_t i) { return begin()[i]; }
  const Value& operator[](size_t i) const { return begin()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<Value>);
  alignas(Value) std::byte memory_[kMaxArgs * sizeof(Value)];
};

/// The arguments of a call in the order of the schema, and which have been given. Held in place: small calls allocate
/// nothing but their results.
struct Arguments {
  explicit Arguments(const Callable& callable) : size(callable.parameters.size()), values(size) {}

  size_t size;
  ValueList values;
  std::bitset<kMaxArgs> given;

  std::span<const Value> Values() const { return {values.begin(), size}; }
};

/// Writes an argument to a value of the table. TypeError or ValueError, naming op and argument, if it is none. Without
/// `tensors`, only shape and dtype of a tensor are read.
void ReadArgument(const Callable& callable, const Parameter& parameter, PyObject* object, Tensors* tensors,
                  Value& value);

/// The outputs of an op, and their views: made by the framework of the tensors read.
struct Outputs {
  std::array<TensorView, kMaxOutputs> views;
  std::array<nanobind::object, kMaxOutputs> objects;
  int size = 0;

  /// See Tensors::Make.
  void Make(Tensors& tensors, const Specs& specs, const IntList* order = nullptr, bool pairs = false);
  std::span<const TensorView> Views() const { return {views.data(), static_cast<size_t>(size)}; }
  /// None, the output, or a tuple of them.
  PyObject* Release();
};

/// Whether a call is one of few numbers: others wait no longer for it than for being handed the GIL.
bool IsSmall(std::span<const Value> values, std::span<const TensorView> outputs);

/// Calls the op; unless it is a small one, without the GIL and on as many threads as the source says. With `low`, tensors of
/// that type are there for float32, as in RunWidened.
void Run(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs,
         std::optional<DType> low = std::nullopt);
/// The same where the GIL may not be held.
void RunOutside(const OpInfo& op, std::span<const Value> values, std::span<const TensorView> outputs,
                std::optional<DType> low = std::nullopt);

/// Sets the Python error that belongs to the exception being handled.
void SetPythonErrorFromException();

/// Runs `body` and turns C++ exceptions into Python's.
template <class Body>
PyObject* Guarded(const Body& body) {
  try {
    return body();
  } catch (...) {
    SetPythonErrorFromException();
    return nullptr;
  }
}

/// A Python function of vectorcall's arguments, `self` the capsule around `data`. Both live as long as the process:
/// Python may call it until its very end.
using VectorCall = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names);
nanobind::object MakeFunction(const char* name, VectorCall call, void* data);

/// Lets a Python function (torch.get_num_threads) say the number of threads at each call, unless SetFixedThreads
/// has said it or will.
void SetThreadsSource(nanobind::object source);
void SetFixedThreads(nanobind::handle n);
int CurrentThreads();

}  // namespace repdl
