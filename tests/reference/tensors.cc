// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace repdl::reference {
namespace {

template <class T>
std::vector<T> Copy(const TensorView& tensor) {
  if (!tensor.IsContiguous()) throw std::logic_error("the reference reads contiguous tensors only");
  const T* data = tensor.Data<T>();
  return std::vector<T>(data, data + tensor.numel());
}

template <class T>
void AppendAny(Results& results, std::vector<T> data, DType dtype, const IntList& shape) {
  if (Size(shape) != static_cast<int64_t>(data.size())) throw std::logic_error("a result does not fit its shape");
  auto memory = std::make_shared<std::vector<T>>(std::move(data));
  results.tensors.push_back(MakeView(memory->data(), dtype, shape));
  results.memory.push_back(std::move(memory));
}

/// A float format of 16 bits, most of them fraction or exponent.
struct Half {
  int fraction_bits, bias;
};

Half HalfOf(DType dtype) {
  if (dtype == DType::kBFloat16) return {7, 127};
  if (dtype == DType::kFloat16) return {10, 15};
  throw std::logic_error("not a float of 16 bits");
}

float Decode(uint16_t bits, const Half& half) {
  const int fraction = bits & ((1 << half.fraction_bits) - 1);
  const int exponent = (bits & 0x7fff) >> half.fraction_bits;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 2 * half.bias + 1) return fraction == 0 ? sign * INFINITY : NAN;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), 1 - half.bias - half.fraction_bits);
  return sign * std::ldexp(1.0f + std::ldexp(static_cast<float>(fraction), -half.fraction_bits), exponent - half.bias);
}

uint16_t Encode(float value, const Half& half) {
  const int infinity = (2 * half.bias + 1) << half.fraction_bits;
  const int sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(infinity + 1);
  if (value == 0.0f) return static_cast<uint16_t>(sign);
  if (std::isinf(value)) return static_cast<uint16_t>(sign | infinity);
  // In units of the last place; a subnormal has the units of the smallest normal number.
  const int exponent = std::max(std::ilogb(value), 1 - half.bias);
  const double units = std::nearbyint(std::ldexp(std::fabs(static_cast<double>(value)), half.fraction_bits - exponent));
  // A carry out of the fraction lands in the exponent, where it belongs.
  const int bits = ((exponent + half.bias - 1) << half.fraction_bits) + static_cast<int>(units);
  return static_cast<uint16_t>(sign | std::min(bits, infinity));
}

}  // namespace

int64_t Size(const IntList& shape) {
  int64_t size = 1;
  for (int64_t length : shape) size *= length;
  return size;
}

Layout Layout::Along(const IntList& shape, int64_t dim) {
  Layout layout;
  if (shape.size() == 0) return layout;
  if (dim < 0) dim += shape.size();
  for (int i = 0; i < shape.size(); ++i) {
    int64_t& part = i < dim ? layout.outer : i == dim ? layout.length : layout.inner;
    part *= shape[i];
  }
  return layout;
}

const Value& Arguments::Get(std::string_view name) const {
  const std::vector<ArgInfo>& infos = case_.op().args;
  for (size_t i = 0; i < infos.size(); ++i) {
    if (infos[i].name == name) return case_.args()[i];
  }
  throw std::logic_error("no argument " + std::string(name));
}

bool Arguments::Has(std::string_view name) const { return !std::holds_alternative<std::monostate>(Get(name)); }

TensorView Arguments::Tensor(std::string_view name) const { return std::get<TensorView>(Get(name)); }

IntList Arguments::Shape(std::string_view name) const { return Tensor(name).shape; }

DType Arguments::Type(std::string_view name) const { return Tensor(name).dtype; }

template <>
Numbers<double> Arguments::NumbersOf<double>(std::string_view name) const {
  return Has(name) ? Copy<double>(Tensor(name)) : Numbers<double>();
}

template <>
Floats Arguments::NumbersOf<float>(std::string_view name) const {
  if (!Has(name)) return {};
  const TensorView tensor = Tensor(name);
  if (tensor.dtype == DType::kFloat32) return Copy<float>(tensor);
  Floats values;
  for (uint16_t bits : Copy<uint16_t>(tensor)) values.push_back(Decode(bits, HalfOf(tensor.dtype)));
  return values;
}

Floats Arguments::FloatsOf(std::string_view name) const { return NumbersOf<float>(name); }

Indices Arguments::IndicesOf(std::string_view name) const {
  return Has(name) ? Copy<int64_t>(Tensor(name)) : Indices();
}

bool Arguments::Flag(std::string_view name) const { return std::get<bool>(Get(name)); }

int64_t Arguments::Int(std::string_view name) const { return std::get<int64_t>(Get(name)); }

double Arguments::Number(std::string_view name) const {
  const Value& value = Get(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  return std::get<double>(value);
}

IntList Arguments::List(std::string_view name) const {
  const Value& value = Get(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) return {*integer};
  return std::get<IntList>(value);
}

IntList Arguments::Pair(std::string_view name) const {
  const IntList list = List(name);
  return list.size() == 1 ? IntList{list[0], list[0]} : list;
}

std::string_view Arguments::Text(std::string_view name) const { return std::get<std::string_view>(Get(name)); }

IntList Arguments::OutputShape(int i) const { return case_.op().infer(case_.args()).spec[i].shape; }

DType Arguments::OutputType(int i) const { return case_.op().infer(case_.args()).spec[i].dtype; }

float RoundedTo(DType dtype, float x) {
  return dtype == DType::kFloat32 ? x : Decode(Encode(x, HalfOf(dtype)), HalfOf(dtype));
}

void Append(Results& results, Floats data, const IntList& shape, DType dtype) {
  if (dtype == DType::kFloat32) return AppendAny(results, std::move(data), dtype, shape);
  std::vector<uint16_t> bits;
  for (float value : data) bits.push_back(Encode(value, HalfOf(dtype)));
  AppendAny(results, std::move(bits), dtype, shape);
}

void Append(Results& results, Numbers<double> data, const IntList& shape, DType dtype) {
  if (dtype != DType::kFloat64) throw std::logic_error("doubles are no results of dtype " + std::string(Name(dtype)));
  AppendAny(results, std::move(data), dtype, shape);
}

void Append(Results& results, Indices data, const IntList& shape) {
  AppendAny(results, std::move(data), DType::kInt64, shape);
}

void Append(Results& results, Flags data, const IntList& shape) {
  AppendAny(results, std::move(data), DType::kBool, shape);
}

}  // namespace repdl::reference
