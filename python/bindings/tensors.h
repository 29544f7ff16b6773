// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "dlpack_abi.h"
#include "repdl/error.h"
#include "repdl/tensor.h"

namespace repdl {

/// Says that the Python error indicator is set.
struct PythonError {};

/// Reads tensors out of Python objects and makes new ones in the framework of the first it read. It keeps
/// what it borrowed alive.
class Tensors {
 public:
  /// `below_dispatcher`: the caller is a kernel of torch's dispatcher, where no tensor is a negated view.
  explicit Tensors(bool below_dispatcher = false) : below_dispatcher_(below_dispatcher) {}

  /// A view of a torch tensor, a NumPy array or anything else with DLPack or the buffer protocol.
  /// What memory does not show as it is (a negated or misaligned view, zeros of torch that have no memory) is copied.
  /// TypeError, naming op and argument, if the object is none of them, is not dense, or is read-only and `writable` is
  /// asked for. It is written to `view`, which is new: a processor waits for what is copied right after it was written
  /// in smaller pieces.
  void Read(PyObject* object, const char* op, std::string_view arg, bool writable, TensorView& view);

  /// A complex tensor on the CPU or a CUDA device as pairs of a real and an imaginary part in a last dimension. None for other tensors,
  /// for those that Read would copy, and for those of a framework without a maker (SetMaker).
  std::optional<TensorView> ReadPairs(PyObject* object, const char* op, std::string_view arg);

  /// Whether all that was read is the memory of its object, not of a copy.
  bool ReadsInPlace() const { return copies_.empty(); }

  /// An uninitialised row-major tensor of the framework of the first tensor read, and its view. With `order`, dimension
  /// i of `spec` is dimension order[i] of the tensor, which is row-major in the order of `spec`. With `pairs`, for what
  /// ReadPairs has read, it is a complex tensor, and the view has its pairs, in the last dimension of `spec` and `order`.
  nanobind::object Make(const TensorSpec& spec, TensorView& view, const IntList* order = nullptr, bool pairs = false);

  /// The stream on which the framework works on the device of the first tensor; null for a CPU.
  void* Stream() const;

 private:
  void ReadArray(PyObject* object, const char* op, std::string_view arg, bool writable, TensorView& view);
  nanobind::object MakeByDlpack(const TensorSpec& spec, TensorView& view, const IntList* order, bool pairs);

  bool below_dispatcher_;
  const dlpack::ExchangeApi* api_ = nullptr;  // of the first tensor; null for an array
  bool has_first_ = false;
  dlpack::Device device_{dlpack::kCpu, 0};
  std::vector<nanobind::ndarray<>> arrays_;
  std::vector<nanobind::object> copies_;
};

/// Lets `make(sizes, strides, dtype)` make the CPU tensors of the framework of `type`: its own function takes less time
/// than DLPack's, and what it makes can be resized. `dtypes` has that framework's as attributes.
void SetMaker(const nanobind::type_object& type, const nanobind::object& make, const nanobind::object& dtypes);

/// The type that the maker's framework means by this object; none for other objects.
std::optional<DType> DTypeOfObject(PyObject* object);

/// How a new tensor lies; see Tensors::Make.
struct Placement {
  IntList shape, strides;
  IntList strides_of_view;
};
Placement PlacementOf(const TensorSpec& spec, const IntList& order, bool pairs);

/// Whether elements lie where the type of their numbers cannot.
bool IsMisaligned(const TensorView& view);

/// Whether an object is a dense tensor of torch on the CPU, of numbers that are not complex.
bool IsRealTensor(PyObject* object);

/// Whether a torch tensor is a view of numbers whose conjugates are in memory.
bool IsConjugated(PyObject* tensor);

/// The number in a torch tensor of one floating-point number on the CPU, which takes less time than Python's float().
/// None for other objects.
std::optional<double> NumberOfTensor(PyObject* object);

/// The memory of a row-major torch tensor on the CPU; none for other objects.
std::span<std::byte> MemoryOf(PyObject* object);

/// A view without data of anything with `shape` and `dtype`: what shape inference reads.
TensorView ReadMeta(PyObject* object);

}  // namespace repdl
