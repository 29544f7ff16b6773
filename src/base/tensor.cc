// SPDX-License-Identifier: MIT
#include "repdl/tensor.h"

#include "repdl/error.h"

namespace repdl {

std::string_view Name(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float32";
    case DType::kFloat64: return "float64";
    case DType::kFloat16: return "float16";
    case DType::kBFloat16: return "bfloat16";
    case DType::kInt8: return "int8";
    case DType::kInt16: return "int16";
    case DType::kInt32: return "int32";
    case DType::kInt64: return "int64";
    case DType::kUInt8: return "uint8";
    case DType::kBool: return "bool";
    case DType::kOther: break;
  }
  return "an unsupported dtype";
}

int ItemSize(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
    case DType::kUInt8:
    case DType::kBool: return 1;
    case DType::kFloat16:
    case DType::kBFloat16:
    case DType::kInt16: return 2;
    case DType::kFloat32:
    case DType::kInt32: return 4;
    case DType::kFloat64:
    case DType::kInt64: return 8;
    case DType::kOther: break;
  }
  return 0;
}

std::string Name(DTypes dtypes) {
  std::string text;
  std::string_view last;
  for (DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16, DType::kUInt8, DType::kInt8,
                      DType::kInt16, DType::kInt32, DType::kInt64, DType::kBool}) {
    if (!dtypes.Has(dtype)) continue;
    if (!last.empty()) text += Message(text.empty() ? "" : ", ", last);
    last = Name(dtype);
  }
  return text.empty() ? std::string(last) : Message(text, " or ", last);
}

std::string Name(const Device& device) {
  switch (device.type) {
    case DeviceType::kCpu: return "cpu";
    case DeviceType::kCuda: return Message("cuda:", device.index);
    case DeviceType::kOther: break;
  }
  return "an unsupported device";
}

void IntList::ThrowFull() {
  throw ValueError(Message("tensors of more than ", kMaxRank, " dimensions are not supported; reshape to fewer"));
}

std::string Name(const IntList& list) {
  std::string text = "(";
  for (int i = 0; i < list.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(list[i]);
  }
  return text + (list.size() == 1 ? ",)" : ")");
}

int64_t TensorView::numel() const {
  int64_t n = 1;
  for (int64_t size : shape) n *= size;
  return n;
}

bool TensorView::IsContiguous() const {
  if (numel() == 0) return true;
  int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

namespace {

/// Overwrites as many numbers with the strides of a shape.
void SetContiguous(const IntList& shape, IntList& strides) {
  int64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
}

}  // namespace

IntList ContiguousStrides(const IntList& shape) {
  IntList strides = shape;
  SetContiguous(shape, strides);
  return strides;
}

TensorView MakeView(void* data, DType dtype, const IntList& shape, Device device) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.device = device;
  view.shape = view.strides = shape;
  SetContiguous(view.shape, view.strides);
  return view;
}

}  // namespace repdl
