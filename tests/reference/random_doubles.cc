// SPDX-License-Identifier: MIT
#include "random_doubles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <string_view>

#include "parallel.h"
#include "random.h"

namespace repdl::reference {
namespace {

/// Where a function of one number is interesting: a range of exponents, for both signs, and one of numbers. Ends of ranges
/// are where results overflow, underflow or become constant, where they do.
struct Range {
  std::string_view op;
  int exponent_low, exponent_high;
  double low, high;
};
constexpr Range kRanges[] = {
    {"acos", -60, -1, -1, 1},
    {"acosh", 0, 100, 1, 100},
    {"asin", -60, -1, -1, 1},
    {"asinh", -60, 100, -20, 20},
    {"atan", -60, 60, -10, 10},
    {"atanh", -60, -1, -1, 1},
    {"cbrt", -100, 100, -1000, 1000},
    {"cos", -28, 30, -100, 100},
    {"cosh", -28, 9, -711, 711},
    {"cospi", -30, 25, -100, 100},
    {"elu", -60, 5, -40, 0},
    {"elu_grad", -55, 9, -746, 0},
    {"entr", -60, 60, 0, 4},
    {"erf", -60, 2, -6, 6},
    {"erfc", -55, 4, -6, 27.3},
    {"exp", -55, 9, -746, 710},
    {"exp10", -55, 8, -324.5, 308.5},
    {"exp2", -55, 9, -1076, 1024.5},
    {"expm1", -60, 9, -40, 710},
    {"gelu", -60, 5, -39, 10},
    {"gelu_grad", -55, 5, -39, 10},
    {"gelu_tanh", -60, 4, -24, 10},
    {"gelu_tanh_grad", -55, 4, -24, 10},
    {"log", -40, 40, 0, 10},
    {"log10", -40, 40, 0, 10},
    {"log1p", -60, 60, -1, 10},
    {"log2", -40, 40, 0, 10},
    {"logit", -60, -1, 0, 1},
    {"logsigmoid", -60, 9, -60, 746},
    {"logsigmoid_grad", -55, 9, -40, 746},
    {"mish", -60, 9, -746, 40},
    {"mish_grad", -55, 9, -746, 40},
    {"rsqrt", -60, 60, 0, 100},
    {"selu", -60, 5, -40, 0},
    {"selu_grad", -55, 9, -746, 0},
    {"sigmoid", -55, 9, -746, 40},
    {"silu", -60, 9, -746, 40},
    {"silu_grad", -55, 9, -746, 40},
    {"sin", -60, 30, -100, 100},
    {"sinc", -28, 25, -100, 100},
    {"sinh", -60, 9, -711, 711},
    {"sinpi", -60, 25, -100, 100},
    {"softplus", -60, 9, -746, 25},
    {"softplus_grad", -55, 9, -746, 25},
    {"softsign", -60, 60, -10, 10},
    {"softsign_grad", -60, 60, -10, 10},
    {"tan", -60, 30, -100, 100},
    {"tanh", -60, 4, -20, 20},
};

constexpr std::string_view kOfTwo[] = {"atan2", "hypot", "logaddexp", "logaddexp2", "pow", "xlog1py", "xlogy"};

const Range* FindRange(std::string_view op) {
  for (const Range& range : kRanges) {
    if (range.op == op) return &range;
  }
  return nullptr;
}

double Signed(double x, bool negative) { return negative ? -x : x; }

/// Exponent number i of a range, each with both signs.
double OfExponents(Random& random, int64_t i, int low, int high) {
  return Signed(random.OfExponent(low + (i >> 1) % (high - low + 1)), (i & 1) != 0);
}

/// Any finite double's exponent.
double OfAnyExponent(Random& random, int64_t i) { return OfExponents(random, i, -1074, 1023); }

/// Near a double, at either side, by 2^10 to 2^50 of its units; in an interval without it.
Operands Near(Random& random, double x) {
  const int64_t e = random.Integer(10, 50);
  const uint64_t distance = (uint64_t{1} << e) + (random.Next() >> (64 - e));
  const auto bits = std::bit_cast<uint64_t>(x);
  const bool below = random.Next() % 2 == 0;
  return {.x = std::bit_cast<double>(below ? bits - distance : bits + distance),
          .size = static_cast<int>(std::min<int64_t>(e - 3, Operands::kWidest))};
}

Operands OfOne(const Range& range, Random& random, int64_t i) {
  const int64_t turn = i / 8;
  switch (i % 8) {
    case 0: return {.x = OfAnyExponent(random, turn)};
    case 1:
    case 2:
    case 3: return {.x = OfExponents(random, 3 * turn + i % 8 - 1, range.exponent_low, range.exponent_high)};
    case 4: return Near(random, Signed(1, random.Next() % 4 == 0));
    case 5: {
      const bool periodic = range.op == "sin" || range.op == "cos" || range.op == "tan";
      if (!periodic) break;
      const double multiple = std::floor(std::exp2(random.Number(0, 26)));  // of pi / 2, within a unit or two
      return Near(random, Signed(multiple * (std::numbers::pi / 2), random.Next() % 2 == 0));
    }
    default: break;
  }
  return {.x = random.Number(range.low, range.high)};
}

/// Powers over all exponents of their results, of bases over all exponents and near 1; and of negative ones.
Operands OfPow(Random& random, int64_t i) {
  const int64_t turn = i / 8;
  double x = 0;
  switch (i % 4) {
    case 0: x = std::fabs(OfAnyExponent(random, turn)); break;
    case 1: x = 1 + OfExponents(random, turn, -50, -2); break;
    case 2: x = random.OfExponent(random.Integer(-4, 4)); break;
    default:
      if (i / 4 % 4 == 0)
        return {.x = -random.OfExponent(random.Integer(-9, 9)), .y = std::round(random.Number(-64, 64))};
      return {.x = random.OfExponent(random.Integer(-40, 40)), .y = OfExponents(random, turn, -40, 5)};
  }
  return {.x = x, .y = random.Number(-1076, 1025) / std::log2(x)};
}

/// Quotients and sums of squares: of any operands, of similar ones, and of some that are so far apart that the quotient is
/// subnormal.
Operands OfQuotient(Random& random, int64_t i) {
  const int64_t turn = i / 8;
  const double y = OfAnyExponent(random, random.Integer(0, 2 * 2098 - 1));
  switch (i % 4) {
    case 0: return {.x = OfAnyExponent(random, turn), .y = y};
    case 1: return {.x = OfExponents(random, turn, -14, 14), .y = OfExponents(random, random.Integer(0, 1), 0, 0)};
    case 2: return {.x = y * OfExponents(random, turn, -60, 60), .y = y};
    default: {
      if (i / 4 % 4 != 0) break;
      const double large = OfExponents(random, turn, 0, 1000);
      return {.x = large * OfExponents(random, random.Integer(0, 2 * 60 - 1), -1075, -1016), .y = large};
    }
  }
  return {.x = random.OfExponent(random.Integer(-300, 300)), .y = OfExponents(random, turn, -300, 300)};
}

/// Sums of which both terms count, and those near 0.
Operands OfLogaddexp(Random& random, int64_t i, bool base_2) {
  const double x = random.Number(-700, 700);
  if (i % 4 == 0) return {.x = OfExponents(random, i / 8, -40, 9), .y = random.Number(-40, 40)};
  if (i % 4 != 1) return {.x = x, .y = x + OfExponents(random, i / 8, -50, 5)};
  const double low = -random.OfExponent(random.Integer(-20, 4));
  return {.x = low, .y = base_2 ? std::log2(1 - std::exp2(low)) : std::log(-std::expm1(low))};
}

/// Products with a logarithm: of numbers over all exponents and near 1, where 1 is `plus` an operand.
Operands OfXlogy(Random& random, int64_t i, double plus) {
  const double x = OfExponents(random, i / 8, -100, 100);
  if (i % 4 == 0) return {.x = x, .y = std::fabs(OfAnyExponent(random, i / 8))};
  if (i % 4 == 1) return {.x = x, .y = random.Number(plus == 0 ? 0 : -1, 4)};
  return {.x = x, .y = (1 - plus) + OfExponents(random, i / 8, -50, -2)};
}

Operands OfTwo(std::string_view op, Random& random, int64_t i) {
  if (op == "pow") return OfPow(random, i);
  if (op.starts_with("logaddexp")) return OfLogaddexp(random, i, op == "logaddexp2");
  if (op.starts_with("xlog")) return OfXlogy(random, i, op == "xlogy" ? 0 : 1);
  return OfQuotient(random, i);
}

bool IsSubnormal(double x) { return x != 0 && std::fabs(x) < 0x1p-1022; }

bool IsSame(double a, double b) {
  return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

Random RandomOf(uint64_t seed, int64_t i) {
  return Random(Mixed(seed * 0xd1342543de82ef95) + static_cast<uint64_t>(i) * 0xaef17502108ef2d9);
}

/// Inputs of an interval, and what the function gives.
struct Piece {
  void Fill(const Function& function, const RandomDoubles& tried, int64_t i) {
    Random random = RandomOf(~tried.seed, i);
    const Interval interval(function, DrawOperands(function, tried.seed, i), random);
    interval.Draw(interval.Worth(tried.an_interval), random.Next(), x, y);
    const int64_t asked = interval.Results(x, y, tried.test_bound, expected);
    by_mpfr = interval.has_polynomial() ? 0 : asked;
    undecided = interval.has_polynomial() ? asked : 0;
    error = interval.error();
    checked = interval.has_polynomial() ? kChecked : 0;
    bad = 0;
    for (int64_t at = 0; at < checked; ++at) {
      const double here = interval.ErrorAt(x[at], y[at]);
      error = std::max(error, here);
      if (!(here <= kMeasuredBound) || !IsSame(expected[at], Rounded(function, x[at], y[at]))) ++bad;
    }
    subnormal = std::ranges::count_if(expected, IsSubnormal);
  }

  static constexpr int64_t kChecked = 2;

  std::vector<double> x, y, expected;
  int64_t by_mpfr, undecided, subnormal, checked, bad;
  double error;
};

}  // namespace

bool HasRandomDoubles(const Function& function) {
  return FindRange(function.name) != nullptr || std::ranges::find(kOfTwo, function.name) != std::end(kOfTwo);
}

Operands DrawOperands(const Function& function, uint64_t seed, int64_t i) {
  Random random = RandomOf(seed, i);
  if (function.kind != Function::Kind::kBinary) return OfOne(*FindRange(function.name), random, i);
  Operands operands = OfTwo(function.name, random, i);
  operands.second_varies = i / 4 % 2 == 1;
  return operands;
}

RandomResults TryRandomDoubles(const Function& function, const RandomDoubles& tried,
                               const std::vector<ComputeDoubles>& ways, const ShowWrong& show,
                               const std::function<void(int64_t)>& progress) {
  constexpr int64_t kPieces = 16;  // at one time, shared by the threads
  RandomResults all;
  all.wrong.assign(ways.size(), 0);
  std::vector<Piece> pieces(kPieces);
  std::vector<double> out;
  while (all.inputs < tried.inputs) {
    ForEach(kPieces, [&](int64_t k) { pieces[k].Fill(function, tried, all.intervals + k); });
    for (const Piece& piece : pieces) {
      ++all.intervals;
      all.inputs += static_cast<int64_t>(piece.x.size());
      all.by_mpfr += piece.by_mpfr;
      all.undecided += piece.undecided;
      all.subnormal += piece.subnormal;
      all.checked += piece.checked;
      all.bad += piece.bad;
      all.error = std::max(all.error, piece.error);
      out.resize(piece.x.size());
      for (size_t way = 0; way < ways.size(); ++way) {
        ways[way](piece.x, piece.y, out);
        for (size_t i = 0; i < out.size(); ++i) {
          if (IsSame(out[i], piece.expected[i])) continue;
          if (++all.wrong[way] <= 5) show(way, piece.x[i], piece.y[i], out[i], piece.expected[i]);
        }
      }
    }
    progress(all.inputs);
  }
  return all;
}

}  // namespace repdl::reference
