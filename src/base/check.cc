// SPDX-License-Identifier: MIT
#include "base/check.h"

#include <ostream>

#include "base/place.h"

namespace repdl {

std::ostream& operator<<(std::ostream& out, const ArgName& name) { return out << '[' << name.op << "] " << name.arg; }

bool IsCountable(DType dtype, const IntList& shape) {
  int64_t bytes = std::max(ItemSize(dtype), 1);
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, std::max<int64_t>(size, 1), &bytes)) return false;
  }
  return bytes <= PTRDIFF_MAX;
}

namespace {

void CheckSizes(const ArgName& name, const TensorView& tensor) {
  REPDL_CHECK(IsCountable(tensor.dtype, tensor.shape), name, " has the shape ", Name(tensor.shape),
              ", whose elements cannot be counted in 64 bits; use a smaller one");
}

}  // namespace

void CheckDType(const ArgName& name, const TensorView& tensor, DType dtype) {
  if (tensor.dtype != dtype) {
    throw TypeError(Message(name, " must be ", Name(dtype), ", got ", Name(tensor.dtype),
                            "; convert it first, with .to(torch.", Name(dtype), ") or .astype('", Name(dtype), "')"));
  }
  CheckSizes(name, tensor);
}

void CheckRank(const ArgName& name, const TensorView& tensor, int min_rank, int max_rank, std::string_view layout) {
  REPDL_CHECK(tensor.rank() >= min_rank && tensor.rank() <= max_rank, name, " must have the shape ", layout, ", got ",
              tensor.rank(), " dimension", tensor.rank() == 1 ? "" : "s", " of ", Name(tensor.shape));
}

void CheckShape(const ArgName& name, const TensorView& tensor, const IntList& shape) {
  REPDL_CHECK(tensor.shape == shape, name, " must have the shape ", Name(shape), ", got ", Name(tensor.shape));
}

void CheckSameDevice(const ArgName& name, const TensorView& tensor, const TensorView& other) {
  REPDL_CHECK(tensor.device == other.device, name, " is on ", Name(tensor.device), " but the first tensor is on ",
              Name(other.device), "; move one of them");
}

void CheckFloating(const ArgName& name, const TensorView& tensor) {
  if (tensor.dtype != DType::kFloat32) {  // which every op takes
    const OpInfo* op = FindOp(name.op);
    const DTypes dtypes = op == nullptr ? kFloat32Only : op->dtypes;
    if (!dtypes.Has(tensor.dtype)) {
      throw TypeError(Message(name, " must be ", Name(dtypes), ", got ", Name(tensor.dtype),
                              "; convert it first, with .to(torch.float32) or .astype('float32')"));
    }
  }
  CheckSizes(name, tensor);
}

void CheckFloat(const ArgName& name, const TensorView& tensor, const TensorView& like) {
  if (tensor.dtype == like.dtype) {
    CheckFloating(name, tensor);
  } else {
    CheckDType(name, tensor, like.dtype);
  }
  CheckSameDevice(name, tensor, like);
}

void CheckFloat(const ArgName& name, const std::optional<TensorView>& tensor, const IntList& shape,
                const TensorView& like) {
  if (!tensor) return;
  CheckFloat(name, *tensor, like);
  CheckShape(name, *tensor, shape);
}

int CheckDim(const ArgName& name, int64_t dim, int rank) {
  REPDL_CHECK(dim >= -rank && dim < rank, name, " ", dim, " is out of range for a tensor of ", rank, " dimension",
              rank == 1 ? "" : "s");
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

void CheckPair(const ArgName& name, IntPair pair, int64_t least) {
  REPDL_CHECK(pair.h >= least && pair.w >= least, name, " must be at least ", least, ", got (", pair.h, ", ", pair.w,
              ")");
  REPDL_CHECK(pair.h <= INT32_MAX && pair.w <= INT32_MAX, name, " must be at most ", INT32_MAX, ", got (", pair.h, ", ",
              pair.w, ")");
}

void CheckOutputs(std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> outputs,
                  const TensorView& like) {
  int i = 0;
  for (const TensorView* output : outputs) {
    const ArgName name{op, "output"};
    CheckDType(name, *output, specs.spec[i].dtype);
    CheckShape(name, *output, specs.spec[i].shape);
    CheckSameDevice(name, *output, like);
    REPDL_CHECK(output->IsContiguous(), name, " must be contiguous");
    ++i;
  }
}

Place PlaceOf(std::string_view op, const TensorView& tensor) {
  Place place{op, tensor.device};
  if (place.IsCpu()) return place;
  const OpInfo* info = place.device.type == DeviceType::kCuda ? FindOp(op) : nullptr;
  if (info == nullptr || !info->HasCuda()) internal::ThrowNoKernel(place);
  place.stream = internal::CurrentCudaStream();
  return place;
}

void CheckCpu(const Place& place) {
  if (place.IsCpu()) return;
  throw NotImplementedError(Message("[", place.op,
                                    "] reads or writes these tensors without a kernel, which it cannot do on ",
                                    Name(place.device), "; move them to the CPU"));
}

namespace internal {

void ThrowNoKernel(const Place& place) {
  throw NotImplementedError(Message("[", place.op, "] has no kernel for ", Name(place.device),
                                    " in this build; move the tensors to the CPU"));
}

}  // namespace internal

}  // namespace repdl
