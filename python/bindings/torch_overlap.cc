// SPDX-License-Identifier: MIT
#include "torch_overlap.h"

#include <atomic>
#include <span>

#include "repdl/overlap.h"
#include "replaced_import.h"

namespace nb = nanobind;

namespace repdl {
namespace {

constexpr const char* kName = "_ZN2at20has_internal_overlapEPN3c1010TensorImplE";

/// at::MemOverlap, of torch.
enum class Overlap : int { kNo, kYes, kTooHard };

/// torch's tensor is a pointer to what it calls TensorImpl, and a handle of its C interface is a pointer to a tensor.
using TensorImpl = void*;

Overlap (*has_internal_overlap)(TensorImpl) = nullptr;
int (*get_dim)(TensorImpl*, int64_t*) = nullptr;
int (*get_sizes)(TensorImpl*, const int64_t**) = nullptr;
int (*get_strides)(TensorImpl*, const int64_t**) = nullptr;

std::atomic<PyObject*> refuses_overlap = nullptr;

bool HasOverlap(TensorImpl tensor) {
  int64_t dim = 0;
  const int64_t *sizes = nullptr, *strides = nullptr;
  if (get_dim(&tensor, &dim) != 0 || get_sizes(&tensor, &sizes) != 0 || get_strides(&tensor, &strides) != 0)
    return false;
  const auto rank = static_cast<size_t>(dim);
  return ElementsOverlap({sizes, rank}, {strides, rank});
}

bool Refuses() {
  const nb::gil_scoped_acquire python;
  PyObject* const refuses = refuses_overlap.load();
  if (refuses == nullptr) return false;
  try {
    return nb::cast<bool>(nb::borrow(refuses)());
  } catch (nb::python_error& error) {  // a warning that is an error
    error.discard_as_unraisable("the check of elements that share memory");
    return true;
  }
}

/// What torch calls before its kernels write.
Overlap Check(TensorImpl tensor) {
  const Overlap found = has_internal_overlap(tensor);
  if (found != Overlap::kTooHard || !HasOverlap(tensor) || !Refuses()) return found;
  return Overlap::kYes;
}

}  // namespace

bool WatchOverlap(const std::vector<uintptr_t>& functions, const nb::object& refuses) {
  if (functions.size() != 4) return false;
  has_internal_overlap = reinterpret_cast<Overlap (*)(TensorImpl)>(functions[0]);
  get_dim = reinterpret_cast<int (*)(TensorImpl*, int64_t*)>(functions[1]);
  get_sizes = reinterpret_cast<int (*)(TensorImpl*, const int64_t**)>(functions[2]);
  get_strides = reinterpret_cast<int (*)(TensorImpl*, const int64_t**)>(functions[3]);
  EndOverlap();
  refuses_overlap.store(nb::object(refuses).release().ptr());
  return ReplaceImport(kName, reinterpret_cast<void*>(has_internal_overlap), reinterpret_cast<void*>(&Check));
}

void EndOverlap() {
  if (PyObject* const before = refuses_overlap.exchange(nullptr)) {
    auto* const own = reinterpret_cast<void*>(has_internal_overlap);
    ReplaceImport(kName, own, own);
    nb::steal(before);
  }
}

bool ViewOverlaps(const std::vector<int64_t>& size, const std::vector<int64_t>& stride) {
  return ElementsOverlap(std::span(size).first(std::min(size.size(), stride.size())), stride);
}

}  // namespace repdl
