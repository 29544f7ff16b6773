// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

// The binary interface of DLPack 1.3 as far as the module uses it: tensors by value, and the table of C
// functions that a framework offers as `__dlpack_c_exchange_api__` on its tensor type.
// Reference: https://dmlc.github.io/dlpack/latest/c_api.html

namespace repdl::dlpack {

enum DeviceCode : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3 };
enum TypeCode : uint8_t { kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6 };

struct Version {
  uint32_t major, minor;
};
struct Device {
  int32_t device_type, device_id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
};
struct ManagedTensor {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensor*);
  uint64_t flags;
  Tensor tensor;
};
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  int (*allocate)(Tensor* prototype, ManagedTensor** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensor** out);
  int (*object_from_managed)(ManagedTensor* tensor, void** out_object);
  int (*tensor_from_object)(void* object, Tensor* out);  // borrowed; may be null
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out_stream);
};

inline constexpr char kExchangeApiCapsule[] = "dlpack_exchange_api";

}  // namespace repdl::dlpack
