// SPDX-License-Identifier: MIT
#include "torch_writes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "repdl/overlap.h"
#include "repdl/to_integer.h"
#include "replaced_import.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// torch's tensor is a pointer to what it calls TensorImpl, and a handle of its C interface is a pointer to a tensor.
using TensorImpl = void*;

// at::MemOverlap and at::MemOverlapStatus
enum class Within : int { kNo, kYes, kTooHard };
enum class Between : int { kFull, kPartial, kNo, kTooHard };

/// What torch calls before its kernels write, and what its C interface tells of a tensor.
struct Functions {
  Within (*within)(TensorImpl);
  Between (*between)(TensorImpl, TensorImpl);
  void (*check_apart)(TensorImpl, TensorImpl);
  TensorImpl* (*copy)(TensorImpl*, TensorImpl*, bool);
  int (*get_dim)(TensorImpl*, int64_t*);
  int (*get_sizes)(TensorImpl*, const int64_t**);
  int (*get_strides)(TensorImpl*, const int64_t**);
  int (*get_device_type)(TensorImpl*, int32_t*);
  int (*get_dtype)(TensorImpl*, int32_t*);
  int (*get_data)(TensorImpl*, const void**);
  int (*clone)(TensorImpl*, TensorImpl**);
  int (*destroy)(TensorImpl*);
};
constexpr std::array kNames = {"_ZN2at20has_internal_overlapEPN3c1010TensorImplE",
                               "_ZN2at18get_overlap_statusEPKN3c1010TensorImplES3_",
                               "_ZN2at17assert_no_overlapEPN3c1010TensorImplES2_",
                               "_ZN2at6native5copy_ERNS_6TensorERKS1_b",
                               "aoti_torch_get_dim",
                               "aoti_torch_get_sizes",
                               "aoti_torch_get_strides",
                               "aoti_torch_get_device_type",
                               "aoti_torch_get_dtype",
                               "torch_get_const_data_ptr",
                               "aoti_torch_clone",
                               "aoti_torch_delete_tensor_object"};
Functions torch;

/// What is known of torch's dtypes, by their numbers.
struct TorchType {
  int64_t item_size = 0;  // if it is known
  std::optional<DType> real;
  std::optional<Through> integer;
  bool is_signed = false;
};
constexpr auto kTypes = [] {
  std::array<TorchType, 30> types;
  types[0] = {1, {}, Through::kInt64};
  types[1] = {1, {}, Through::kInt32, true};
  types[2] = {2, {}, Through::kInt32, true};
  types[3] = {4, {}, Through::kInt32, true};
  types[4] = {8, {}, Through::kInt64, true};
  types[5] = {2, DType::kFloat16, {}};
  types[6] = {4, DType::kFloat32, {}};
  types[7] = {8, DType::kFloat64, {}};
  types[8].item_size = 4;  // complex
  types[9].item_size = 8;
  types[10].item_size = 16;
  types[11].item_size = 1;  // bool
  types[15] = {2, DType::kBFloat16, {}};
  types[27] = {2, {}, Through::kInt32};
  types[28] = {4, {}, Through::kInt64};
  types[29] = {8, {}, Through::kUInt64};
  return types;
}();

TorchType TypeOf(TensorImpl tensor) {
  int32_t dtype = -1;
  const bool is_known = torch.get_dtype(&tensor, &dtype) == 0 && dtype >= 0 && dtype < std::ssize(kTypes);
  return is_known ? kTypes[static_cast<size_t>(dtype)] : TorchType();
}

std::atomic<PyObject*> refuses_writes = nullptr;

bool Refuses() {
  const nb::gil_scoped_acquire python;
  PyObject* const refuses = refuses_writes.load();
  if (refuses == nullptr) return false;
  try {
    return nb::cast<bool>(nb::borrow(refuses)());
  } catch (nb::python_error& error) {  // a warning that is an error
    error.discard_as_unraisable("the check of elements that share memory");
    return true;
  }
}

/// A tensor of the CPU, as torch tells it.
struct Described {
  explicit Described(TensorImpl tensor) {
    int32_t device = -1;
    int64_t dim = 0;
    const int64_t *sizes = nullptr, *strides = nullptr;
    const void* data = nullptr;
    if (torch.get_device_type(&tensor, &device) != 0 || device != 0) return;
    item_size = TypeOf(tensor).item_size;
    if (item_size == 0) return;
    if (torch.get_dim(&tensor, &dim) != 0 || torch.get_sizes(&tensor, &sizes) != 0) return;
    if (torch.get_strides(&tensor, &strides) != 0 || torch.get_data(&tensor, &data) != 0) return;
    address = reinterpret_cast<uintptr_t>(data);
    shape = {sizes, static_cast<size_t>(dim)};
    for (const int64_t stride : std::span(strides, shape.size())) steps.push_back(stride * item_size);
  }

  Strided strided() const { return {address, item_size, shape, steps}; }

  bool IsLike(const Described& other) const {
    return address == other.address && item_size == other.item_size && std::ranges::equal(shape, other.shape) &&
           steps == other.steps;
  }

  uintptr_t address = 0;  // if it is not known
  int64_t item_size = 0;
  std::span<const int64_t> shape;
  std::vector<int64_t> steps;
};

bool HasOverlap(TensorImpl tensor) {
  int64_t dim = 0;
  const int64_t *sizes = nullptr, *strides = nullptr;
  if (torch.get_dim(&tensor, &dim) != 0 || torch.get_sizes(&tensor, &sizes) != 0) return false;
  if (torch.get_strides(&tensor, &strides) != 0) return false;
  const auto rank = static_cast<size_t>(dim);
  return ElementsOverlap({sizes, rank}, {strides, rank});
}

Within CheckWithin(TensorImpl tensor) {
  const Within found = torch.within(tensor);
  return found == Within::kTooHard && HasOverlap(tensor) && Refuses() ? Within::kYes : found;
}

/// While torch copies: what is set if the copy would write to elements that it still reads.
thread_local bool* copy_overlaps = nullptr;

/// Set while torch asks on behalf of kernels that may not even read the very elements that they write.
thread_local bool must_be_apart = false;

Between CheckBetween(TensorImpl a, TensorImpl b) {
  const Between found = torch.between(a, b);
  if (found != Between::kTooHard) return found;
  const Described of_a(a), of_b(b);
  if (of_a.address == 0 || of_b.address == 0) return found;
  if (of_a.IsLike(of_b)) return must_be_apart && Refuses() ? Between::kFull : found;
  if (!ElementsOverlap(of_a.strided(), of_b.strided())) return found;
  if (copy_overlaps != nullptr) {
    *copy_overlaps = true;
    return Between::kPartial;
  }
  return Refuses() ? Between::kPartial : found;
}

void CheckApart(TensorImpl a, TensorImpl b) {
  struct Asking {
    Asking() { must_be_apart = true; }
    ~Asking() { must_be_apart = false; }
  } const asking;
  torch.check_apart(a, b);
}

/// Calls `function` with a copy of a tensor.
template <class Function>
TensorImpl* WithCopy(TensorImpl* tensor, const Function& function) {
  TensorImpl* copy = nullptr;
  if (torch.clone(tensor, &copy) != 0) throw std::bad_alloc();
  const std::unique_ptr<TensorImpl, int (*)(TensorImpl*)> owner(copy, torch.destroy);
  return function(copy);
}

/// Whether C++ leaves to the machine what becomes of NaN and numbers out of range. x86 has the instructions that say it
/// for all, but for uint32, of which torch's kernels have two, by their vectors.
bool IsLeftToTheMachine(TensorImpl to, TensorImpl from) {
  const TorchType result = TypeOf(to);
  if (!result.integer) return false;
#if defined(__x86_64__)
  if (*result.integer != Through::kInt64 || result.item_size != 4) return false;
#endif
  return TypeOf(from).real.has_value();
}

/// A copy is what most threads that go from left to right would make, `x[:, :-1] = x[:, 1:]` say: that of all elements as
/// they were.
TensorImpl* CopyElements(TensorImpl* to, TensorImpl* from, bool non_blocking) {
  bool overlaps = false;
  struct Copying {
    explicit Copying(bool& flag) : before(std::exchange(copy_overlaps, &flag)) {}
    ~Copying() { copy_overlaps = before; }
    bool* before;
  } const copying(overlaps);
  try {
    return torch.copy(to, from, non_blocking);
  } catch (...) {
    if (!overlaps) throw;
  }
  return WithCopy(from, [&](TensorImpl* as_it_was) { return torch.copy(to, as_it_was, non_blocking); });
}

bool Overlap(TensorImpl a, TensorImpl b) {
  const Described of_a(a), of_b(b);
  return of_a.address != 0 && of_b.address != 0 && ElementsOverlap(of_a.strided(), of_b.strided());
}

void ConvertOutOfRange(TensorImpl to, TensorImpl from) {
  const Described result(to), source(from);
  if (result.address == 0 || source.address == 0) return;
  const TorchType type = TypeOf(to);
  repdl::ConvertOutOfRange(source.strided(), *TypeOf(from).real, result.strided(), type.is_signed, *type.integer);
}

/// In the place of at::native::copy_.
TensorImpl* Copy(TensorImpl* to, TensorImpl* from, bool non_blocking) {
  if (!IsLeftToTheMachine(*to, *from)) return CopyElements(to, from, non_blocking);
  const auto convert = [&](TensorImpl* as_it_was) {
    TensorImpl* const copied = CopyElements(to, from, non_blocking);
    ConvertOutOfRange(*to, *as_it_was);
    return copied;
  };
  return Overlap(*to, *from) ? WithCopy(from, convert) : convert(from);
}

const std::array kOurs = {
    Import{kNames[0], reinterpret_cast<void*>(&CheckWithin)}, Import{kNames[1], reinterpret_cast<void*>(&CheckBetween)},
    Import{kNames[2], reinterpret_cast<void*>(&CheckApart)}, Import{kNames[3], reinterpret_cast<void*>(&Copy)}};

std::optional<ReplacedImports> imports;

}  // namespace

std::vector<const char*> WriteFunctions() { return {kNames.begin(), kNames.end()}; }

bool WatchWrites(const std::vector<uintptr_t>& functions, const nb::object& refuses) {
  if (functions.size() != kNames.size()) return false;
  EndWatch();
  size_t at = 0;
  const auto next = [&](auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(functions[at++]);
  };
  next(torch.within), next(torch.between), next(torch.check_apart), next(torch.copy);
  next(torch.get_dim), next(torch.get_sizes), next(torch.get_strides), next(torch.get_device_type);
  next(torch.get_dtype), next(torch.get_data), next(torch.clone), next(torch.destroy);
  refuses_writes.store(nb::object(refuses).release().ptr());
  if (!imports) imports.emplace(reinterpret_cast<void*>(torch.within), kOurs);
  const bool has_all = std::ranges::find(imports->found(), false) == imports->found().end();
  if (has_all && imports->Replace()) return true;
  EndWatch();
  return false;
}

void EndWatch() {
  PyObject* const before = refuses_writes.exchange(nullptr);
  if (before == nullptr) return;
  if (imports) imports->Restore();
  nb::steal(before);
}

bool ViewOverlaps(const std::vector<int64_t>& size, const std::vector<int64_t>& stride) {
  const size_t rank = std::min(size.size(), stride.size());  // torch tells of more of one than of the other
  return ElementsOverlap(std::span(size).first(rank), std::span(stride).first(rank));
}

}  // namespace repdl
