// SPDX-License-Identifier: MIT
#include "cpp/double_against_reference.h"

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "numerics/composite_scalar.h"
#include "numerics/special_of_two_scalar.h"
#include "reference/functions.h"
#include "repdl/op.h"

namespace repdl {

void ComputeByOp(const DoubleRow& row, const std::vector<double>& x, const std::vector<double>& y,
                 std::vector<double>& out) {
  const OpInfo& op = *FindOp(row.op);
  const std::vector<double> ones(x.size(), 1.0);
  const auto view = [](const std::vector<double>& values) {
    return MakeView(const_cast<double*>(values.data()), DType::kFloat64, {static_cast<int64_t>(values.size())});
  };
  std::vector<Value> operands = {view(x)};
  if (row.binary) {
    operands.emplace_back(view(y));
  } else if (op.args.size() == 2) {
    operands.insert(operands.begin(), view(ones));
  }
  op.run(operands, std::vector<TensorView>{view(out)});
}

double ForOneNumber(DoubleFunction function, double x, double y) {
  const scalar::Tag<double> d;
  switch (function) {
#define DOUBLE_UNARY(op, Name) \
  case DoubleFunction::k##Name: return scalar::Name##Double()(d, x);
#define DOUBLE_BINARY(op, Name) \
  case DoubleFunction::k##Name: return scalar::Name##Double()(d, x, y);
#define DOUBLE_GRADIENT(op, Name, expression)       \
  case DoubleFunction::k##Name: {                   \
    const double g = x;                             \
    return [&](double x) { return expression; }(y); \
  }
#define D(Name, x) scalar::Name##Double()(d, x)
#include "cpp/double_functions.def"
#include "cpp/double_trig.def"
#undef D
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
  }
  return 0;
}

double AnyBits(std::mt19937_64& random) { return std::bit_cast<double>(random()); }

double OfExponents(std::mt19937_64& random, int low, int high) {
  const int e = low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
  uint64_t fraction = random() >> 12;
  if (random() % 8 == 0) fraction &= ~uint64_t{0} << (random() % 53);
  const double x = std::ldexp(std::bit_cast<double>(0x3ff0000000000000 | (fraction & 0xfffffffffffff)), e);
  return random() % 2 == 0 ? x : -x;
}

double Uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * (static_cast<double>(random() >> 11) * 0x1p-53);
}

uint64_t Bits(double x) { return std::isnan(x) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(x); }

long CountOf(const char* variable, long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atol(text);
}

void DoubleAgainstReference::Check(const std::vector<double>& x, const std::vector<double>& y) {
  const DoubleRow& row = GetParam();
  const reference::Function& function = *reference::FindFunction(row.op);
  std::vector<double> expected(x.size()), out(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = reference::Rounded(function, x[i], row.binary ? y[i] : 0.0);
  for (const std::string_view target : SupportedTargets()) {
    SetTarget(target);
    ComputeByOp(row, x, y, out);
    Compare(target, x, y, out, expected);
  }
  for (size_t i = 0; i < x.size(); ++i) out[i] = ForOneNumber(row.function, x[i], y[i]);
  Compare("one number", x, y, out, expected);
  CheckMore(x, y, expected);
}

void DoubleAgainstReference::CheckHardCases() {
  const char* more = std::getenv("REPDL_DOUBLE_INPUTS");
  for (const std::string folder : {REPDL_HARD_CASES "_double", more == nullptr ? "" : more}) {
    std::vector<double> x, y;
    std::ifstream file(folder + "/" + GetParam().op + ".txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line.substr(0, line.find('#')));
      std::string first, second = "0";
      if (!(words >> first)) continue;
      words >> second;
      for (const double sign : {1.0, -1.0}) {
        x.push_back(sign * std::strtod(first.c_str(), nullptr));
        y.push_back(std::strtod(second.c_str(), nullptr));
      }
    }
    if (!x.empty()) Check(x, y);
  }
}

void DoubleAgainstReference::Compare(std::string_view where, const std::vector<double>& x, const std::vector<double>& y,
                                     const std::vector<double>& out, const std::vector<double>& expected) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (Bits(out[i]) != Bits(expected[i]) && ++wrong_ < 10) {
      ADD_FAILURE() << GetParam().op << " by " << where << std::hexfloat << ": f(" << x[i] << ", " << y[i]
                    << ") = " << out[i] << ", not " << expected[i];
    }
  }
}

}  // namespace repdl
