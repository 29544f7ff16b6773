// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "reference.h"
#include "repdl/conformance.h"
#include "repdl/order.h"

namespace repdl::reference {

template <class T>
using Numbers = std::vector<T>;
using Floats = Numbers<float>;
using Indices = std::vector<int64_t>;
/// Truth values, 0 or 1.
using Flags = std::vector<uint8_t>;

/// Number of elements.
int64_t Size(const IntList& shape);

/// A row-major tensor seen along one dimension. A row holds the elements that differ in this dimension only.
struct Layout {
  int64_t outer = 1, length = 1, inner = 1;

  /// `dim` may count from the end. A tensor without dimensions has one element in its only row.
  static Layout Along(const IntList& shape, int64_t dim);

  int64_t rows() const { return outer * inner; }
  /// Where element i of a row stands; the rows are numbered in row-major order of the other dimensions.
  int64_t At(int64_t row, int64_t i) const { return (row / inner * length + i) * inner + row % inner; }
};

/// Reads the arguments of a case by name.
class Arguments {
 public:
  explicit Arguments(const Case& test_case) : case_(test_case) {}

  /// False for None.
  bool Has(std::string_view name) const;
  IntList Shape(std::string_view name) const;
  DType Type(std::string_view name) const;
  /// Copies of the elements, of 16-bit types widened; empty for None.
  Floats FloatsOf(std::string_view name) const;
  /// The same for T = float, and the elements of a float64 tensor for T = double.
  template <class T>
  Numbers<T> NumbersOf(std::string_view name) const;
  Indices IndicesOf(std::string_view name) const;

  bool Flag(std::string_view name) const;
  int64_t Int(std::string_view name) const;
  double Number(std::string_view name) const;
  IntList List(std::string_view name) const;
  /// An int[2], which one number may stand for.
  IntList Pair(std::string_view name) const;
  std::string_view Text(std::string_view name) const;
  Order TheOrder() const { return ParseOrder(Text("order")); }

  /// Shape of an output. Shapes are no arithmetic, so the library is asked.
  IntList OutputShape(int i = 0) const;
  DType OutputType(int i = 0) const;

 private:
  const Value& Get(std::string_view name) const;
  TensorView Tensor(std::string_view name) const;

  const Case& case_;
};

template <>
Floats Arguments::NumbersOf<float>(std::string_view name) const;
template <>
Numbers<double> Arguments::NumbersOf<double>(std::string_view name) const;

/// The number of this dtype, of 16 bits or as it is, that is nearest.
float RoundedTo(DType dtype, float x);
inline double RoundedTo(DType, double x) { return x; }

/// Adds a tensor to the results. Floats are rounded to nearest even to `dtype` if that has 16 bits.
void Append(Results& results, Floats data, const IntList& shape, DType dtype = DType::kFloat32);
void Append(Results& results, Numbers<double> data, const IntList& shape, DType dtype = DType::kFloat64);
void Append(Results& results, Indices data, const IntList& shape);
void Append(Results& results, Flags data, const IntList& shape);

}  // namespace repdl::reference
