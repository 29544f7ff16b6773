// SPDX-License-Identifier: MIT
// What eigenvalues and singular values of real and complex matrices share: sweeps of rotations over two diagonals.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "matrices.h"

namespace repdl::reference {

inline constexpr double kTiny = 0x1p-400;

inline double Shifted(double x, int by) {
  const int half = static_cast<int>(std::floor(by / 2.0));
  return std::ldexp(std::ldexp(x, half), by - half);
}

struct Rotation {
  double c = 1, s = 0, r = 0;
  int64_t place = 0;
};

inline Rotation RotationOf(double x, double z, int64_t place) {
  if (std::fabs(z) < kTiny) return {1, 0, x, place};
  const double xx = x * x, zz = z * z, r = std::sqrt(xx + zz);
  return {x / r, z / r, r, place};
}

inline double LeastOf(const Doubles& d, const Doubles& e) {
  double largest = 0;
  for (double x : d) largest = std::max(largest, std::fabs(x));
  for (double x : e) largest = std::max(largest, std::fabs(x));
  return largest * 0x1p-60;
}

/// Does sweep(l, m) until e is zero; info.
template <class Sweep>
int64_t Search(const Doubles& d, Doubles& e, double least, const Sweep& sweep) {
  auto m = static_cast<int64_t>(d.size()) - 1;
  int64_t sweeps = 0;
  while (m > 0) {
    int64_t l = m;
    while (l > 0) {
      const double size = std::fabs(e[l - 1]), around = std::fabs(d[l - 1]) + std::fabs(d[l]);
      if (size <= least || size <= 0x1p-53 * around) {
        e[l - 1] = 0;
        break;
      }
      --l;
    }
    if (l == m) {
      --m;
    } else if (sweeps++ == 40 * static_cast<int64_t>(d.size())) {
      return 1;
    } else {
      sweep(l, m);
    }
  }
  return 0;
}

/// The eigenvalues of a symmetric matrix with these diagonals become d; info.
inline int64_t DiagonalizeTridiagonal(Doubles& d, Doubles& e, std::vector<Rotation>& rotations) {
  return Search(d, e, LeastOf(d, e), [&](int64_t l, int64_t m) {
    double g = (d[m - 1] - d[m]) / (2 * e[m - 1]);
    const double gg = g * g, root = std::sqrt(gg + 1);
    g = (d[l] - d[m]) + e[m - 1] / (g < 0 ? g - root : g + root);
    double c = 1, s = 1, p = 0;
    for (int64_t i = l; i < m; ++i) {
      const double f = s * e[i], b = c * e[i];
      rotations.push_back(RotationOf(g, f, i));
      c = rotations.back().c;
      s = rotations.back().s;
      if (i > l) e[i - 1] = rotations.back().r;
      g = d[i] - p;
      const double first = (d[i + 1] - g) * s, cb = c * b, r = first + 2 * cb;
      p = s * r;
      d[i] = g + p;
      const double cr = c * r;
      g = cr - b;
    }
    d[m] = d[m] - p;
    e[m - 1] = g;
  });
}

/// The singular values of a bidiagonal matrix, but for signs and places, become d; info.
inline int64_t DiagonalizeBidiagonal(Doubles& d, Doubles& e, std::vector<Rotation>& of_u, std::vector<Rotation>& of_v) {
  const double least = LeastOf(d, e);
  return Search(d, e, least, [&](int64_t l, int64_t m) {
    double shift = 0;
    bool singular = false;
    for (int64_t i = l; i <= m; ++i) {
      if (std::fabs(d[i]) <= least) d[i] = 0, singular = true;
    }
    if (!singular) {
      const double a = std::fabs(d[m - 1]), b = std::fabs(d[m]), off = e[m - 1] * e[m - 1];
      const double plus = (a + b) * (a + b), minus = (a - b) * (a - b), ab = a * b;
      shift = ab / ((std::sqrt(plus + off) + std::sqrt(minus + off)) * 0.5);
    }
    double f = d[l], g = e[l];
    if (shift != 0) f = (std::fabs(f) - shift) * ((f < 0 ? -1 : 1) + shift / f);
    for (int64_t i = l; i < m; ++i) {
      Rotation r = RotationOf(f, g, i);
      of_v.push_back(r);
      if (i > l) e[i - 1] = r.r;
      const double cd = r.c * d[i], se = r.s * e[i], ce = r.c * e[i], sd = r.s * d[i];
      f = cd + se;
      e[i] = ce - sd;
      g = r.s * d[i + 1];
      d[i + 1] = r.c * d[i + 1];
      r = RotationOf(f, g, i);
      of_u.push_back(r);
      d[i] = r.r;
      const double ce2 = r.c * e[i], sd2 = r.s * d[i + 1], cd2 = r.c * d[i + 1], se2 = r.s * e[i];
      f = ce2 + sd2;
      d[i + 1] = cd2 - se2;
      if (i + 1 < m) {
        g = r.s * e[i + 1];
        e[i + 1] = r.c * e[i + 1];
      }
    }
    e[m - 1] = f;
  });
}

}  // namespace repdl::reference
