// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace repdl {

enum class DType : uint8_t {
  kFloat32,
  kFloat64,
  kFloat16,
  kBFloat16,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kBool,
  kOther,
};

/// "float32", "int64", …
std::string_view Name(DType dtype);

/// Bytes of one element; 0 for kOther.
int ItemSize(DType dtype);

/// A set of dtypes.
class DTypes {
 public:
  constexpr DTypes(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= 1u << static_cast<int>(dtype);
  }
  constexpr bool Has(DType dtype) const { return (bits_ >> static_cast<int>(dtype) & 1) != 0; }

 private:
  uint32_t bits_ = 0;
};
inline constexpr DTypes kFloat32Only = {DType::kFloat32};
inline constexpr DTypes kFloat32Or64 = {DType::kFloat32, DType::kFloat64};
inline constexpr DTypes kUpToFloat32 = {DType::kFloat32, DType::kBFloat16, DType::kFloat16};
inline constexpr DTypes kUpToFloat64 = {DType::kFloat32, DType::kFloat64, DType::kBFloat16, DType::kFloat16};

/// "float32, bfloat16 or float16"
std::string Name(DTypes dtypes);

enum class DeviceType : uint8_t { kCpu, kCuda, kOther };

struct Device {
  DeviceType type = DeviceType::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

/// "cpu", "cuda:0", …
std::string Name(const Device& device);

/// No op takes a tensor of more dimensions.
inline constexpr int kMaxRank = 8;

/// A short list of sizes, strides or dimensions, held in place.
class IntList {
 public:
  IntList() = default;
  IntList(std::initializer_list<int64_t> values) : IntList(std::span(values.begin(), values.size())) {}
  explicit IntList(std::span<const int64_t> values) {
    for (int64_t value : values) Append(value);
  }

  int size() const { return size_; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t operator[](int i) const { return values_[i]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  int64_t* begin() { return values_.data(); }
  int64_t* end() { return values_.data() + size_; }
  // Not every library makes a span of a range by itself: Emscripten 3.1's does not.
  operator std::span<const int64_t>() const { return {values_.data(), static_cast<size_t>(size_)}; }
  void Append(int64_t value) {
    if (size_ == kMaxRank) [[unlikely]]
      ThrowFull();
    values_[size_++] = value;
  }
  friend bool operator==(const IntList& a, const IntList& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  [[noreturn]] static void ThrowFull();

  std::array<int64_t, kMaxRank> values_;  // those from size_ on are never read
  int size_ = 0;
};

/// "(2, 3)"
std::string Name(const IntList& list);

/// Height and width.
struct IntPair {
  int64_t h, w;
};

/// What an op says about an output before it exists.
struct TensorSpec {
  DType dtype = DType::kFloat32;
  IntList shape;
};

/// A tensor that belongs to somebody else. Strides count elements and may be zero or negative.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kFloat32;
  Device device;
  IntList shape;
  IntList strides;

  int rank() const { return shape.size(); }
  int64_t numel() const;
  bool IsContiguous() const;

  template <class T>
  T* Data() const {
    return static_cast<T*>(data);
  }
};

/// A row-major view of `data`.
TensorView MakeView(void* data, DType dtype, const IntList& shape, Device device = {});
inline TensorView MakeView(float* data, const IntList& shape) { return MakeView(data, DType::kFloat32, shape); }
inline TensorView MakeView(const float* data, const IntList& shape) {
  return MakeView(const_cast<float*>(data), DType::kFloat32, shape);
}
inline TensorView MakeView(const int64_t* data, const IntList& shape) {
  return MakeView(const_cast<int64_t*>(data), DType::kInt64, shape);
}

/// Row-major strides of a shape.
IntList ContiguousStrides(const IntList& shape);

/// Marks, in the signature of an op, a tensor that the op fills.
struct Out : TensorView {
  Out() = default;
  Out(const TensorView& view) : TensorView(view) {}  // NOLINT: every view may be an output
};

/// Marks, in the signature of an op, a tensor that the op reads and changes.
struct InOut : TensorView {
  InOut() = default;
  InOut(const TensorView& view) : TensorView(view) {}  // NOLINT
};

}  // namespace repdl
