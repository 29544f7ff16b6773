// SPDX-License-Identifier: MIT
#pragma once

#include <Python.h>

#include <bitset>
#include <cstddef>
#include <optional>

#include "callable.h"
#include "drivers/convert.h"
#include "override_callable.h"
#include "repdl/cuda.h"
#include "repdl/op.h"

// What all calls of an override have in common, whether their arguments come from Python or from torch's dispatcher.

namespace repdl {

struct OverrideCallable {
  Callable callable;
  Target target;
  Ordinary ordinary;
  PyObject* fallback;
  PyObject* out_name;
  PyObject* generator_name;
  // Where the argument `order` is, and where `seed` with `call` behind it; the number of parameters if there is none.
  size_t order_at;
  size_t key_at;
  std::bitset<kMaxArgs> transposed;
  std::bitset<kMaxArgs> moved;
  // Where the op is told whether to conjugate its first tensor, with the same of the second behind it; likewise.
  size_t conjugates_at;
  size_t last_dims_at, below_terms_at;  // likewise

  bool IsKey(size_t at) const { return at == key_at || at == key_at + 1; }
  bool TakesKey() const { return key_at < callable.parameters.size(); }
  bool Conjugates() const { return conjugates_at < callable.parameters.size(); }
  bool ChangesFirst() const { return target == Target::kFirstArgument || callable.op->num_outputs == 0; }
  const Constant* ConstantAt(Py_ssize_t place) const;
  const Choice* ChoiceAt(Py_ssize_t place) const;
  /// Which parameter the positional argument at `place` is, where those before it have all below `next`, which is where the
  /// next one begins to look.
  size_t ParameterAt(Py_ssize_t place, size_t& next) const;
};

/// The arguments of a call, of which it finds out whether the op can take them as they are.
class OverrideCall {
 protected:
  /// `may_widen`: whether the caller widens tensors of a low precision for an op that takes none.
  OverrideCall(const OverrideCallable& function, bool may_widen)
      : function_(function), read_(function.callable), may_widen_(may_widen) {}

  /// Whether a tensor is where the op has kernels, and where the others are.
  bool TakeDevice(const TensorView& view);
  /// Takes a tensor that was read to its place, and one that is seen as pairs. False if the op cannot take it.
  bool TakeTensor(size_t at);
  bool TakePairs(size_t at, const TensorView& view);
  /// Takes a number in the place of a tensor. False if there are too many, and for integers that are no doubles.
  bool TakeNumber(size_t at, double real, double imaginary);
  bool TakeInteger(size_t at, double value);

  /// Takes a type that the tensors are to have in an ordinary call. False if it is none.
  bool TakeDType(std::optional<DType> dtype);
  /// Whether that is the product of the sizes of the first tensor, which was read, in dimensions [begin, end).
  bool IsSize(int64_t number, int64_t begin, int64_t end) const;
  /// Whether a correction leaves nothing of the number of terms of each result.
  bool LeavesNoTerms(const Specs& specs) const;
  /// Whether dimensions are named that are to be the last ones, and are not.
  bool NamesOtherDims() const;

  /// Whether the call is an ordinary one, once all that was given is taken: fills in the rest.
  bool Complete();

  /// The type of the tensors that the caller is to widen, once all is taken.
  std::optional<DType> WidenedType() const {
    return dtype_ && IsLow(*dtype_) && !function_.callable.op->dtypes.Has(*dtype_) ? dtype_ : std::nullopt;
  }

  /// Brings the view of the tensor given for the result to what the op makes. False if that cannot be written there:
  /// it is another (`target_fits_` says if not), has other strides, or overlaps an operand.
  bool ArrangeTarget(const Specs& specs, TensorView& view);

  /// Brings the numbers to the device of the tensors, for as long as what is given for them lives.
  void PutNumbers(std::optional<CudaNumbers>& on_device);

  /// Whether the op needs a key that is not given by its name.
  bool DrawsKey() const { return function_.TakesKey() && !read_.given[function_.key_at]; }
  /// Takes a key for the op, if it needs one, of a generator, the default one for nullptr.
  void ReadKey(PyObject* generator);

  const OverrideCallable& function_;
  Arguments read_;
  std::optional<DType> dtype_;
  std::optional<Device> device_;
  bool all_contiguous_ = true;
  bool all_single_ = true;
  std::optional<IntList> order_of_strides_;
  bool target_fits_ = false;

 private:
  bool may_widen_;
  std::optional<DType> asked_dtype_;
  struct {
    size_t at;
    double parts[2];  // of which a real number has the first alone
    float as_floats[2];
  } numbers_[3];
  size_t num_numbers_ = 0;
};

/// The last two dimensions change places.
void Transpose(TensorView& view);

}  // namespace repdl
