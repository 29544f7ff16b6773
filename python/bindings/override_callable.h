// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>
#include <vector>

#include "repdl/op.h"
#include "repdl/order.h"

namespace repdl {

/// Where the result of an override goes.
enum class Target { kNew, kFirstArgument, kOut };

/// An argument that the op does not have, and what it is in an ordinary call.
struct Constant {
  enum class Kind {
    kAny,
    kEqual,  // what equals `value`
    kDType,  // the type that the tensors have
    kSize,   // the product of the sizes of the first tensor in dimensions [begin, end)
  };
  Py_ssize_t place;
  Kind kind;
  PyObject* value;
  Py_ssize_t begin, end;
};

/// Of what Python says: Ellipsis for anything, a type for that of its kind which the tensors have, as torch.dtype is, and a
/// slice for the product of those sizes.
Constant MakeConstant(Py_ssize_t place, PyObject* said);

/// An argument that comes as a number, and a tuple of what the op calls each.
struct Choice {
  Py_ssize_t place;
  PyObject* names;
};

/// An argument that the op has at another place, by its name there.
struct Moved {
  Py_ssize_t place;
  PyObject* name;
};

/// What the tensors of a call are, and its results: real numbers, or complex ones, which the op has as pairs.
enum class Numbers { kReal, kComplex, kComplexToReal, kRealToComplex };

/// What torch has in the place of an output of the op.
enum class Result {
  kSame,
  kTransposed,  // the same matrices, of which the op has the transposes
  kInt32,       // the same integers, which the op has in int64
  kLeftOut,     // nothing
  kZeros,       // nothing, in an ordinary call, which has zeros there
};

/// Which calls are ordinary.
struct Ordinary {
  Numbers numbers;
  bool pointwise;   // tensors may be numbers; otherwise in any layout, which the result takes over
  bool low;         // tensors may be bfloat16 or float16 instead of float32, which is then what they are widened to
  bool contiguous;  // tensors are row-major, as the result is
  int rank;         // of the tensors; 0 for any
  bool alike;       // tensors without dimensions are of the type of the others too
  bool in_place;    // the op may write its result over its first argument
  std::vector<Constant> constants;
  std::vector<Choice> choices;
  std::vector<Moved> moved;
  std::string last_dims;                // the argument that names the last dimensions of the first tensor, in order
  std::string below_terms;              // the argument that is less than the number of terms of each result
  std::vector<std::string> transposed;  // arguments that are matrices, of which the op takes the transposes
  std::vector<Result> results;          // none: torch has what the op has

  bool TakesPairs() const { return numbers == Numbers::kComplex || numbers == Numbers::kComplexToReal; }
  bool GivesPairs() const { return numbers == Numbers::kComplex || numbers == Numbers::kRealToComplex; }
};

/// A kernel for torch's dispatcher that calls an op at once where the call is an ordinary one, and else the Python
/// function `fallback` with the same arguments. Ordinary are plain tensors of one dtype, such as float32, with
/// indices of int64 or int32 behind the first unless they are pointwise, and arguments that the op has; `ordinary` says more.
nanobind::object MakeOverrideCallable(const OpInfo& op, Target target, const Ordinary& ordinary,
                                      const nanobind::object& fallback);

/// What a function that MakeOverrideCallable gave calls; null for other objects.
struct OverrideCallable;
const OverrideCallable* OverrideOf(PyObject* function);

/// A kernel for torch's dispatcher that calls torch's own, `boxed(keys, …)`, where all arguments are tensors of real
/// numbers, and else the Python function `fallback`.
nanobind::object MakeForReals(const nanobind::object& boxed, const nanobind::object& keys,
                              const nanobind::object& fallback);

/// Lets a Python function say the order of sums in this context: None where it is the default of the process.
void SetOrderSource(nanobind::object source);
void SetDefaultOrder(std::string_view order);
/// For ops whose argument `order` is not given. It takes the GIL where a source is to be asked.
Order CurrentOrder();
/// Whether a key is drawn for ops whose arguments `seed` and `call` are not given, which is so at first; if not, the
/// fallback is called.
void SetHasKeys(bool has);
bool HasKeys();

}  // namespace repdl
