// SPDX-License-Identifier: MIT
#include "tensor_source.h"

#include <algorithm>
#include <cstring>

namespace nb = nanobind;

namespace repdl {
namespace {

using Handle = TensorHandle;
using Failed = int32_t;

struct {
  PyObject* (*wrap)(Handle tensor);  // which takes what the tensor holds
  Failed (*empty_strided)(int64_t rank, const int64_t* shape, const int64_t* strides, int32_t dtype,
                          int32_t device_type, int32_t device_index, Handle* made);
  Failed (*delete_tensor)(Handle tensor);
  Failed (*is_defined)(Handle tensor, bool* is);
  Failed (*get_data)(Handle tensor, void** data);
  Failed (*get_offset)(Handle tensor, int64_t* offset);  // in elements, of the first one in its memory
  Failed (*get_rank)(Handle tensor, int64_t* rank);
  Failed (*get_shape)(Handle tensor, const int64_t** shape);
  Failed (*get_strides)(Handle tensor, const int64_t** strides);
  Failed (*get_dtype)(Handle tensor, int32_t* dtype);
  Failed (*get_device_type)(Handle tensor, int32_t* type);
  Failed (*get_layout)(Handle tensor, int32_t* layout);
} torch{};

/// Types whose objects hold their tensor behind their head; never freed.
std::vector<PyTypeObject*> plain_types;

// Numbers that torch writes to files.
constexpr int32_t kCpu = 0, kCuda = 1, kStrided = 0;
struct Code {
  DType dtype;
  int32_t real, complex;
};
constexpr int32_t kNone = -1;
constexpr Code kCodes[] = {{DType::kFloat32, 6, 9},       {DType::kFloat64, 7, 10},    {DType::kInt64, 4, kNone},
                           {DType::kBFloat16, 15, kNone}, {DType::kFloat16, 5, kNone}, {DType::kInt32, 3, kNone},
                           {DType::kBool, 11, kNone},     {DType::kUInt8, 0, kNone},   {DType::kInt8, 1, kNone},
                           {DType::kInt16, 2, kNone}};

Handle HandleOf(PyObject* object) { return reinterpret_cast<std::byte*>(object) + sizeof(PyObject); }

bool IsPlain(PyObject* object) { return std::ranges::find(plain_types, Py_TYPE(object)) != plain_types.end(); }

/// What an at::Tensor is: a pointer.
uintptr_t AddressIn(Handle tensor) {
  uintptr_t address;
  std::memcpy(&address, tensor, sizeof address);
  return address;
}

/// Whether it is there, dense and on the CPU.
bool IsDenseOnCpu(Handle tensor) {
  int32_t layout, device_type;
  if (bool is = false; torch.is_defined(tensor, &is) != 0 || !is) return false;
  if (torch.get_layout(tensor, &layout) != 0 || layout != kStrided) return false;
  return torch.get_device_type(tensor, &device_type) == 0 && device_type == kCpu;
}

/// Whether it has elements but no memory for them.
bool LacksMemory(Handle tensor, const TensorView& view, bool are_pairs) {
  if (!MayLackMemory(view.data) || view.numel() == 0) return false;
  int64_t offset;
  return torch.get_offset(tensor, &offset) != 0 ||
         reinterpret_cast<uintptr_t>(view.data) ==
             static_cast<uintptr_t>(offset * ItemSize(view.dtype) * (are_pairs ? 2 : 1));
}

}  // namespace

void SetTensorSource(const std::vector<uintptr_t>& functions, const nb::object& sample, uintptr_t address,
                     const nb::tuple& plain) {
  if (functions.size() * sizeof(uintptr_t) != sizeof torch) return;
  std::memcpy(&torch, functions.data(), sizeof torch);
  if (AddressIn(HandleOf(sample.ptr())) != address) return;
  for (nb::handle type : plain) plain_types.push_back(reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()));
}

bool ReadTensor(PyObject* object, TensorView& view) { return IsPlain(object) && ReadHandle(HandleOf(object), view); }

bool ReadHandle(Handle tensor, TensorView& view, bool as_pairs) {
  int32_t code;
  int64_t rank;
  const int64_t *shape, *strides;
  if (!IsDenseOnCpu(tensor)) return false;
  const int most = as_pairs ? kMaxRank - 1 : kMaxRank, step = as_pairs ? 2 : 1;
  if (torch.get_dtype(tensor, &code) != 0 || torch.get_rank(tensor, &rank) != 0 || rank > most) return false;
  const Code* const known = std::ranges::find(kCodes, code, as_pairs ? &Code::complex : &Code::real);
  if (known == std::end(kCodes)) return false;
  if (torch.get_shape(tensor, &shape) != 0 || torch.get_strides(tensor, &strides) != 0) return false;
  if (torch.get_data(tensor, &view.data) != 0) return false;
  view.dtype = known->dtype;
  for (int64_t i = 0; i < rank; ++i) view.shape.Append(shape[i]);
  for (int64_t i = 0; i < rank; ++i) view.strides.Append(step * strides[i]);
  if (as_pairs) view.shape.Append(2), view.strides.Append(1);
  return !LacksMemory(tensor, view, as_pairs);
}

PyObject* NewTensor(DType dtype, bool is_complex, const IntList& shape, const IntList& strides, const Device& device,
                    void*& data) {
  Handle made = NewHandle(dtype, is_complex, shape, strides, device, data);
  if (made == nullptr) return nullptr;
  PyObject* const tensor = torch.wrap(made);
  torch.delete_tensor(made);
  if (tensor == nullptr) PyErr_Clear();
  return tensor;
}

Handle NewHandle(DType dtype, bool is_complex, const IntList& shape, const IntList& strides, const Device& device,
                 void*& data) {
  const Code* const known = std::ranges::find(kCodes, dtype, &Code::dtype);
  if (torch.empty_strided == nullptr || known == std::end(kCodes)) return nullptr;
  const int32_t code = is_complex ? known->complex : known->real;
  constexpr int32_t kNoIndex = -1;
  const bool is_cpu = device.type == DeviceType::kCpu;
  Handle made = nullptr;
  if (torch.empty_strided(shape.size(), shape.begin(), strides.begin(), code, is_cpu ? kCpu : kCuda,
                          is_cpu ? kNoIndex : device.index, &made) != 0) {
    return nullptr;
  }
  if (torch.get_data(made, &data) == 0) return made;
  torch.delete_tensor(made);
  return nullptr;
}

void DeleteHandle(Handle tensor) { torch.delete_tensor(tensor); }

std::optional<DType> DTypeOfCode(int64_t code) {
  const Code* const known = std::ranges::find(kCodes, code, &Code::real);
  return known == std::end(kCodes) ? std::nullopt : std::optional(known->dtype);
}

bool IsWhole(Handle tensor) {
  constexpr int32_t kLastInteger = 4, kBool = 11;
  int32_t code;
  return IsDenseOnCpu(tensor) && torch.get_dtype(tensor, &code) == 0 && (code <= kLastInteger || code == kBool);
}

}  // namespace repdl
