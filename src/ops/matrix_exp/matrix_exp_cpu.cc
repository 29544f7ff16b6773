// SPDX-License-Identifier: MIT
#include <bit>
#include <limits>

#include "drivers/matrix_cpu-inl.h"
#include "ops/matrix_exp/matrix_exp_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/matrix_exp/matrix_exp.lane.h"

struct Exponential {
  int64_t n;
  Rows powers[kPowers];
  Rows product, sum;

  /// `product` = -(x y).
  void Multiply(const Rows& x, const Rows& y) const {
    for (int64_t i = 0; i < n; ++i) std::fill_n(product[i], n, 0.0);
    SubtractProduct({n, n, n, x.data, x.stride, 1, y.data, y.stride, product.data, product.stride, false});
  }

  /// Of powers[0] / 2^doublings, which is changed, into `sum`.
  void Run(int64_t doublings) const {
    const Rows& b = powers[0];
    const double half = PowerOf2(-(doublings / 2)), other = PowerOf2(-(doublings - doublings / 2));
    const double scale = half * other;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) b[i][j] = b[i][j] * scale;
    }
    SetPower(1, b, b);
    SetPower(2, powers[1], b);
    SetPower(3, powers[1], powers[1]);
    SetPower(4, powers[2], powers[1]);
    for (int group = kGroups - 1; group >= 0; --group) {
      if (group < kGroups - 1) Multiply(powers[kPowers - 1], sum);
      AddGroup(group);
    }
    for (int64_t i = 0; i < n; ++i) sum[i][i] = 1.0 + sum[i][i];
    // The negative of a product of two negatives is that of the product.
    Rows x = sum, y = product;
    Negate(x);
    for (int64_t k = 0; k < doublings; ++k) {
      Exponential{n, {}, y, {}}.Multiply(x, x);
      std::swap(x, y);
    }
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) sum[i][j] = 0.0 - x[i][j];  // no zero is -0
    }
  }

 private:
  /// 2^k, k from -1022 on.
  static double PowerOf2(int64_t k) { return std::bit_cast<double>(static_cast<uint64_t>(1023 + k) << 52); }

  void Negate(const Rows& x) const {
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) x[i][j] = -x[i][j];
    }
  }

  void SetPower(int at, const Rows& x, const Rows& y) const {
    Multiply(x, y);
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < n; ++j) powers[at][i][j] = -product[i][j];
    }
  }

  /// sum = T - product, or T of the last group, which comes first.
  void AddGroup(int group) const {
    const TagOf<double> d;
    const double* const factors = ExponentialFactors() + group * kPowers;
    for (int64_t i = 0; i < n; ++i) {
      ForVectors<double>(n, [&](int64_t j, int64_t count) HWY_ATTR {
        VecOf<double> t = TermsOfGroup(d, factors, [&](int at) HWY_ATTR { return LoadN(powers[at][i] + j, count); });
        if (group < kGroups - 1) t = Sub(t, LoadN(product[i] + j, count));
        StoreN<double>(t, sum[i] + j, count);
      });
    }
  }
};

/// The largest sum of a column's sizes.
double NormOf(const Rows& a, int64_t n, double* sums) {
  std::fill_n(sums, n, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) sums[j] = sums[j] + __builtin_fabs(a[i][j]);
  }
  double norm = 0;
  for (int64_t j = 0; j < n; ++j) norm = sums[j] <= norm ? norm : sums[j];  // NaN stays
  for (int64_t j = 0; j < n; ++j) norm = sums[j] == sums[j] ? norm : sums[j];
  return norm;
}

}  // namespace

void MatrixExpKernel(const MatrixExpArgs& args) {
  const int64_t n = args.n;
  ForMatrices(args.batch, 12 * n * n * n, [&](int64_t matrix) {
    Scratch scratch;
    Exponential exponential{n, {}, NewRows(scratch, n, n), NewRows(scratch, n, n)};
    for (Rows& power : exponential.powers) power = NewRows(scratch, n, n);
    LoadRows(args.input, matrix, n, n, exponential.powers[0]);
    const double norm = NormOf(exponential.powers[0], n, scratch.Get<double>(n));
    if (norm <= std::numeric_limits<double>::max()) {
      const auto exponent = static_cast<int64_t>(std::bit_cast<uint64_t>(norm) >> 52) - 1022;
      exponential.Run(std::max<int64_t>(0, exponent));
    } else {
      for (int64_t i = 0; i < n; ++i) std::fill_n(exponential.sum[i], n, std::numeric_limits<double>::quiet_NaN());
    }
    StoreRows(exponential.sum, n, n, args.input.dtype, args.output, matrix * n * n);
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
