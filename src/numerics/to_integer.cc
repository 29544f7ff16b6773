// SPDX-License-Identifier: MIT
#include "repdl/to_integer.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "numerics/lanes/scalar.h"

namespace repdl {
namespace {

template <class Int>
bool Holds(double x) {
  // Both bounds are numbers of double; NaN is in none.
  return std::trunc(x) >= static_cast<double>(std::numeric_limits<Int>::min()) &&
         x < -static_cast<double>(std::numeric_limits<Int>::min());
}

template <class Int>
Int Truncate(double x) {
  return Holds<Int>(x) ? static_cast<Int>(x) : std::numeric_limits<Int>::min();
}

constexpr double kTwo63 = 0x1p63;

double Load(const char* address, DType dtype) {
  if (dtype == DType::kFloat64) {
    double x;
    std::memcpy(&x, address, sizeof x);
    return x;
  }
  if (dtype == DType::kFloat32) {
    float x;
    std::memcpy(&x, address, sizeof x);
    return x;
  }
  uint16_t bits;
  std::memcpy(&bits, address, sizeof bits);
  return dtype == DType::kBFloat16 ? scalar::WidenBFloat16(int32_t{bits}) : scalar::WidenFloat16(int32_t{bits});
}

void Store(char* address, int64_t size, uint64_t value) {
  const auto put = [&](auto narrow) { std::memcpy(address, &narrow, sizeof narrow); };
  if (size == 1) return put(static_cast<uint8_t>(value));
  if (size == 2) return put(static_cast<uint16_t>(value));
  if (size == 4) return put(static_cast<uint32_t>(value));
  put(value);
}

struct Conversion {
  const Strided& to;
  std::vector<int64_t> steps;  // of what it is from, by the dimensions of `to`
  DType dtype;
  Through through;
  double least, end;  // the range of the result

  void Run(const char* source, char* result, size_t dim = 0) const {
    if (dim == to.shape.size()) {
      const double x = Load(source, dtype);
      const bool is_within = std::trunc(x) >= least && x < end;  // NaN is not
      if (!is_within) Store(result, to.item_size, ToInteger(x, through));
      return;
    }
    for (int64_t i = 0; i < to.shape[dim]; ++i) Run(source + i * steps[dim], result + i * to.steps[dim], dim + 1);
  }
};

}  // namespace

uint64_t ToInteger(double x, Through through) {
  if (through == Through::kInt32) return static_cast<uint64_t>(int64_t{Truncate<int32_t>(x)});
  if (through == Through::kUInt64 && x >= kTwo63) {
    return static_cast<uint64_t>(Truncate<int64_t>(x - kTwo63)) ^ (uint64_t{1} << 63);
  }
  return static_cast<uint64_t>(Truncate<int64_t>(x));
}

void ConvertOutOfRange(const Strided& from, DType dtype, const Strided& to, bool is_signed, Through through) {
  std::vector<int64_t> steps(to.shape.size(), 0);
  const size_t added = to.shape.size() - from.shape.size();
  for (size_t dim = 0; dim < from.shape.size(); ++dim) {
    if (from.shape[dim] != 1) steps[added + dim] = from.steps[dim];
  }
  const double end = std::ldexp(1.0, static_cast<int>(8 * to.item_size) - (is_signed ? 1 : 0));
  Conversion{to, steps, dtype, through, is_signed ? -end : 0, end}.Run(reinterpret_cast<const char*>(from.address),
                                                                       reinterpret_cast<char*>(to.address));
}

}  // namespace repdl
