// SPDX-License-Identifier: MIT
// The functions of doubles against MPFR, on every CPU target and as the text for one number. REPDL_DOUBLE_CASES is the
// number of random inputs for each function, REPDL_DOUBLE_SEED chooses others, REPDL_DOUBLE_INPUTS names a folder of
// more hard cases.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "cpp/double_against_reference.h"
#include "numerics/composite_scalar.h"
#include "numerics/special_of_two_scalar.h"
#include "reference/functions.h"
#include "reference/real.h"

namespace repdl {
namespace {

const DoubleRow kRows[] = {
#define DOUBLE_UNARY(op, Name) {#op, DoubleFunction::k##Name, false},
#define DOUBLE_BINARY(op, Name) {#op, DoubleFunction::k##Name, true},
#define DOUBLE_GRADIENT(op, Name, expression)
#include "cpp/double_functions.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
};

/// What a formula gives with numbers of the kind N, over 2^n, and by what part of `size` pairs may be off.
template <class F, class N, class... Xs>
void Evaluate(double* parts, double& n, double& size, double& bound, Xs... x) {
  const scalar::Tag<double> d;
  const N value = F::template Of<N>(d, n, x...);
  size = value.high;
  if constexpr (requires { F::kSized; }) size = F::Size(d, n, size, x...);
  size = std::abs(size);
  bound = F::kBound;
  parts[0] = value.high;
  if constexpr (std::is_same_v<N, scalar::Pair<double>>) {
    parts[1] = value.low, parts[2] = 0;
  } else {
    parts[1] = value.middle, parts[2] = value.low;
  }
}

template <class N>
void EvaluateRow(DoubleFunction function, double x, double y, double* parts, double& n, double& size, double& bound) {
  switch (function) {
#define DOUBLE_UNARY(op, Name) \
  case DoubleFunction::k##Name: return Evaluate<scalar::Name##Formula, N>(parts, n, size, bound, x);
#define DOUBLE_BINARY(op, Name) \
  case DoubleFunction::k##Name: return Evaluate<scalar::Name##Formula, N>(parts, n, size, bound, x, y);
#define DOUBLE_GRADIENT(op, Name, expression) \
  case DoubleFunction::k##Name: break;
#include "cpp/double_functions.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
    default: break;  // those of double_trig.def have no formula
  }
}

/// Where nothing is infinite, NaN or handled apart.
struct Domain {
  double low = -800, high = 800;
};
Domain DomainOf(const std::string& op) {
  if (op == "acosh") return {1, 1e300};
  if (op == "asinh") return {-1e300, 1e300};
  if (op == "softsign" || op == "softsign_grad") return {-0x1p60, 0x1p60};
  if (op == "atanh") return {-1, 1};
  if (op == "log" || op == "log2" || op == "log10") return {0, 1e308};
  if (op == "log1p") return {-1, 1e308};
  if (op == "exp2") return {-1080, 1030};
  if (op == "exp10") return {-325, 310};
  if (op == "tanh") return {-20, 20};
  if (op == "expm1" || op == "selu") return {-50, 709};
  if (op == "sigmoid" || op == "silu" || op == "mish" || op == "logsigmoid") return {-760, 800};
  if (op == "gelu_tanh" || op == "gelu_tanh_grad") return {-23, 30};
  if (op == "softplus") return {-760, 20};
  if (op == "elu") return {-50, 0};
  if (op == "entr") return {0, 10};
  if (op == "logit") return {0, 1};
  if (op == "elu_grad") return {-750, 0};
  return {-750, 720};
}

double RandomOf(std::mt19937_64& random, const Domain& domain) {
  switch (random() % 8) {
    case 0: return random() % 4 == 0 ? AnyBits(random) : OfExponents(random, -100, 100);
    case 1: return OfExponents(random, -60, 10);
    case 2: return OfExponents(random, -30, 1);
    case 3: return 1 + OfExponents(random, -52, -1);
    case 4: return Uniform(random, -1, 1) * Uniform(random, -40, 40);
    case 5: return OfExponents(random, -10, 9);
    default: return Uniform(random, std::max(domain.low, -1500.0), std::min(domain.high, 1500.0));
  }
}

/// Whether the reference takes milliseconds.
bool IsSlow(const std::string& op) { return op == "polygamma" || op == "zeta"; }

void RandomPair(std::mt19937_64& random, const std::string& op, double& x, double& y) {
  const uint64_t kind = random() % 8;
  if (IsSlow(op)) {
    const bool integer = op == "polygamma" || kind >= 5;
    x = integer ? static_cast<double>(random() % 40 + 2) : 1 + std::abs(OfExponents(random, -20, 5));
    y = kind < 3 ? std::abs(OfExponents(random, -20, 20)) : Uniform(random, integer ? -9 : 0, 30);
    return;
  }
  x = kind == 0 ? AnyBits(random) : OfExponents(random, -40, 40);
  y = kind <= 1 ? AnyBits(random) : OfExponents(random, -40, 40);
  if (op == "pow") {
    if (kind >= 3) x = std::abs(x);
    if (kind == 4) x = 1 + OfExponents(random, -52, -2);
    if (kind == 5) x = std::abs(AnyBits(random));
    if (kind >= 3 && kind <= 6) y = Uniform(random, -750, 720) / std::log(x);
    if (kind == 7) {  // exact results, midpoints and those near them
      x = std::pow(static_cast<double>(random() % 4096 + 1), static_cast<double>(1 << random() % 6));
      x = std::ldexp(x, static_cast<int>(random() % 64) * (1 << random() % 5) - 512);
      y = static_cast<double>(random() % 128) / static_cast<double>(1 << random() % 6);
    }
  } else if (op == "logaddexp" || op == "logaddexp2") {
    if (kind == 2) {  // cancels
      x = Uniform(random, -1, 0);
      y = op == "logaddexp" ? std::log1p(-std::exp(x)) : std::log2(1 - std::exp2(x));
    }
    if (kind == 3) y = x + OfExponents(random, -50, 8);
    if (kind == 4) x = Uniform(random, -750, 750), y = Uniform(random, -750, 750);
    if (kind == 5) x = OfExponents(random, -1074, -900), y = Uniform(random, -750, -600);
  } else {
    if (kind == 3) y = 1 + OfExponents(random, -52, -2);
    if (kind == 4) y = std::abs(AnyBits(random));
    if (kind >= 3 && op != "xlog1py") y = std::abs(y);
    if (kind == 5) x = OfExponents(random, -1074, -1000);
    if (kind == 6) x = OfExponents(random, 1000, 1023);
  }
}

/// Zeros, infinities, NaN, ends of the range, and limits of overflow and underflow with their neighbours.
std::vector<double> Specials() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> x = {0.0,          kInfinity,
                           std::nan(""), 0x1p-1074,
                           0x1.8p-1073,  0x1.fffffffffffffp-1023,
                           0x1p-1022,    0x1.fffffffffffffp+1023};
  for (int e = -1074; e < 1024; e += e < -1060 || (e > -60 && e < 60) || e > 1015 ? 1 : 17)
    x.push_back(std::ldexp(1.0, e));
  for (int i = 0; i < 150; ++i) x.insert(x.end(), {0.5 * i, i / 3.0, i * 0x1p-52, i * 0x1p-54, i * 0x1p-1074});
  for (int i = -30; i < 30; ++i) x.push_back(std::pow(10.0, i));
  const double limits[] = {0x1.62e42fefa39efp+9,
                           -0x1.74385446d71c3p+9,
                           -0x1.74910d52d3051p+9,
                           -0x1.6232bdd7abcd2p+9,  // exp
                           1024,
                           -1022,
                           -1074,
                           -1075,
                           -1076,  // exp2
                           0x1.34413509f79fep+8,
                           -0x1.434e6420f4374p+8,
                           -0x1.439b746e36b52p+8,  // exp10
                           0x1.633ce8fb9f87dp+9,
                           20,
                           1,
                           0x1.205966f2b4f12p+5};
  for (const double limit : limits) {
    double below = limit, above = limit;
    for (int i = 0; i < 4; ++i) {
      x.insert(x.end(), {below, above});
      below = std::nextafter(below, -kInfinity), above = std::nextafter(above, kInfinity);
    }
  }
  for (size_t i = 0, size = x.size(); i < size; ++i) x.push_back(-x[i]);
  return x;
}

class DoubleFunctions : public DoubleAgainstReference {
 protected:
  const reference::Function& Reference() const { return *reference::FindFunction(GetParam().op); }
};

TEST_P(DoubleFunctions, RoundSpecialValues) {
  const std::vector<double> all = Specials();
  if (!GetParam().binary) return Check(all, std::vector<double>(all.size()));
  std::mt19937_64 random(1);
  std::vector<double> x, y;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double few[] = {0.0,           0x1p-1074,   0x1p-1022, 0.25, 0.5,    1.0 - 0x1p-53, 1.0,
                        1.0 + 0x1p-52, 1.5,         2.0,       3.0,  0x1p53, 0x1p53 + 2,    0x1.fffffffffffffp+1023,
                        kInfinity,     std::nan("")};
  for (const double a : few) {
    for (const double b : few) {
      for (int signs = 0; signs < 4; ++signs) x.push_back(signs % 2 ? -a : a), y.push_back(signs / 2 ? -b : b);
    }
  }
  if (GetParam().op == "pow") {
    // Midpoints, and the same beside them.
    const double midpoints[][2] = {{134217727, 2},
                                   {94906267, 2},
                                   {208065, 3},
                                   {9743, 4},
                                   {208065.0 * 208065, 1.5},
                                   {3, 34},
                                   {0x1p-215, 5},
                                   {0x1.8p-214, 5},
                                   {0x1p-43, 25},
                                   {0x1p-5, 215},
                                   {0x1p-512, 1075.0 / 512},
                                   {0x1p-1024, 1075.0 / 1024},
                                   {0x1.8p-42, 25}};
    for (const auto& [base, exponent] : midpoints) {
      for (const int step : {-1, 0, 1}) {
        x.push_back(std::nextafter(base, base + step)), y.push_back(exponent);
        x.push_back(base), y.push_back(std::nextafter(exponent, exponent + step));
      }
    }
  }
  for (int i = 0; i < (IsSlow(GetParam().op) ? 100 : 1000); ++i)
    x.push_back(all[random() % all.size()]), y.push_back(all[random() % all.size()]);
  Check(x, y);
  EXPECT_EQ(wrong_, 0);
}

TEST_P(DoubleFunctions, RoundHardCases) {
  CheckHardCases();
  EXPECT_EQ(wrong_, 0);
}

TEST_P(DoubleFunctions, RoundRandomValues) {
  std::mt19937_64 random(static_cast<uint64_t>(CountOf("REPDL_DOUBLE_SEED", 1)));
  const Domain domain = DomainOf(GetParam().op);
  const long block = IsSlow(GetParam().op) ? 200 : 4096;
  for (long done = 0, count = CountOf("REPDL_DOUBLE_CASES", 2 * block); done < count; done += block) {
    std::vector<double> x(block), y(block);
    for (long i = 0; i < block; ++i) {
      if (GetParam().binary) {
        RandomPair(random, GetParam().op, x[i], y[i]);
      } else {
        x[i] = RandomOf(random, domain);
      }
    }
    Check(x, y);
  }
  EXPECT_EQ(wrong_, 0);
}

/// Pairs keep to their bound, on which the rounding test relies, and triples are good to 2^-127: where a formula leaves out what is
/// beyond, it keeps the sign of it.
TEST_P(DoubleFunctions, KeepToTheirBounds) {
  std::mt19937_64 random(2);
  const Domain domain = DomainOf(GetParam().op);
  mpfr_t x, y, exact, value;
  mpfr_inits2(600, exact, value, nullptr);
  mpfr_inits2(53, x, y, nullptr);
  double worst_pair = 0, worst_triple = 0, worst_x = 0, worst_a = 0, worst_b = 0;
  for (long i = 0, count = CountOf("REPDL_DOUBLE_CASES", IsSlow(GetParam().op) ? 200 : 2000); i < count; ++i) {
    double a = 0, b = 0;
    do {
      if (GetParam().binary) {
        RandomPair(random, GetParam().op, a, b);
        if (GetParam().op == "xlogy") b = std::abs(b);
        if (GetParam().op == "pow") a = std::abs(a);
      } else {
        a = RandomOf(random, domain);
      }
    } while (!std::isfinite(a) || !std::isfinite(b) || a == 0 || b == (GetParam().op == "xlogy" ? 0 : 1.5) ||
             (!GetParam().binary && (a <= domain.low || a >= domain.high || std::abs(a) < 0x1p-60)));
    mpfr_set_d(x, a, MPFR_RNDN);
    mpfr_set_d(y, b, MPFR_RNDN);
    reference::Real::precision = 600;
    Reference().exact(exact, x, y);
    reference::Real::precision = 384;
    const double rounded = mpfr_get_d(exact, MPFR_RNDN);
    if (rounded == 0 || !std::isfinite(rounded)) continue;
    for (const bool triple : {false, true}) {
      double parts[3], n = 0, size = 0, bound = 0;
      if (triple) {
        EvaluateRow<scalar::Triple<double>>(GetParam().function, a, b, parts, n, size, bound);
      } else {
        EvaluateRow<scalar::Pair<double>>(GetParam().function, a, b, parts, n, size, bound);
      }
      mpfr_set_d(value, parts[0], MPFR_RNDN);
      mpfr_add_d(value, value, parts[1], MPFR_RNDN);
      mpfr_add_d(value, value, parts[2], MPFR_RNDN);
      mpfr_mul_2si(value, value, static_cast<long>(n), MPFR_RNDN);
      // The functions of |x| are odd or even.
      mpfr_abs(value, value, MPFR_RNDN);
      mpfr_abs(exact, exact, MPFR_RNDN);
      mpfr_sub(value, value, exact, MPFR_RNDN);
      mpfr_mul_2si(value, value, static_cast<long>(-n), MPFR_RNDN);
      const double error = std::abs(mpfr_get_d(value, MPFR_RNDN)) / size;
      if (triple) {
        if (error > worst_triple) worst_triple = error, worst_a = a, worst_b = b;
      } else if (!(error / bound <= worst_pair)) {
        worst_pair = error / bound, worst_x = a;
      }
    }
  }
  EXPECT_LT(worst_pair, 0.5) << std::hexfloat << worst_x;
  EXPECT_LT(worst_triple, 0x1p-127) << std::hexfloat << worst_a << " " << worst_b;
  if (std::getenv("REPDL_DOUBLE_CASES") != nullptr) {
    std::printf("%s: the error of pairs is %.4f of its bound at %a, of triples 2^%.1f\n", GetParam().op.c_str(),
                worst_pair, worst_x, std::log2(worst_triple));
  }
  mpfr_clears(x, y, exact, value, nullptr);
}

TEST(DoubleGradients, RoundEachStepOnce) {
  const DoubleRow rows[] = {
#define DOUBLE_UNARY(op, Name)
#define DOUBLE_BINARY(op, Name)
#define DOUBLE_GRADIENT(op, Name, expression) {#op, DoubleFunction::k##Name, true},
#include "cpp/double_functions.def"
#undef DOUBLE_UNARY
#undef DOUBLE_BINARY
#undef DOUBLE_GRADIENT
  };
  std::mt19937_64 random(3);
  std::vector<double> g(4096), x(4096), out(4096);
  for (double& value : g) value = OfExponents(random, -1074, 1023);
  for (double& value : x) value = RandomOf(random, {-50, 50});
  const std::string saved(ActiveTarget());
  for (const std::string_view target : SupportedTargets()) {
    SetTarget(target);
    for (const DoubleRow& row : rows) {
      ComputeByOp(row, g, x, out);
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_EQ(Bits(out[i]), Bits(ForOneNumber(row.function, g[i], x[i])))
            << target << " " << row.op << " " << g[i] << " " << x[i];
      }
    }
  }
  SetTarget(saved);
}

INSTANTIATE_TEST_SUITE_P(All, DoubleFunctions, ::testing::ValuesIn(kRows),
                         [](const auto& param) { return param.param.op; });

}  // namespace
}  // namespace repdl
