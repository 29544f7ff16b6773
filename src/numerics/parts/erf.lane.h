// SPDX-License-Identifier: MIT
// The tail of the normal distribution, for erfc and gelu. Constants from tools/coefficients/erf.py.

/// Phi(-t) for 0 <= t <= 15, given e^(-t^2 / 2). Their ratio is p(t) / q(t) within 2^-55 for t < 0.5, 2^-50 for all.
template <class D, class V>
REPDL_LANE V NormalTail(D d, V t, V density) {
  V p = Set(d, 0x1.3e0fedb5bdf1ep-18);
  p = Fma(p, t, Set(d, 0x1.f660e8d80b013p-14));
  p = Fma(p, t, Set(d, 0x1.7c0d92487d22dp-10));
  p = Fma(p, t, Set(d, 0x1.6426d5f1e0c23p-7));
  p = Fma(p, t, Set(d, 0x1.c23dc8fe40afcp-5));
  p = Fma(p, t, Set(d, 0x1.892f324581b66p-3));
  p = Fma(p, t, Set(d, 0x1.d1aaf5e5b5286p-2));
  p = Fma(p, t, Set(d, 0x1.5a4bb76c42a6ep-1));
  p = Fma(p, t, Set(d, 0x1p-1));
  V q = Set(d, 0x1.8ea1c2a7363c1p-17);
  q = Fma(q, t, Set(d, 0x1.3ad1aeffc0b29p-12));
  q = Fma(q, t, Set(d, 0x1.dde2084645192p-9));
  q = Fma(q, t, Set(d, 0x1.c34a047bf189bp-6));
  q = Fma(q, t, Set(d, 0x1.218a607101411p-3));
  q = Fma(q, t, Set(d, 0x1.0408df33fd712p-1));
  q = Fma(q, t, Set(d, 0x1.453e830a75d1cp+0));
  q = Fma(q, t, Set(d, 0x1.100e6a2eb6cf0p+1));
  q = Fma(q, t, Set(d, 0x1.1346f085722d0p+1));
  q = Fma(q, t, Set(d, 0x1p+0));
  return Mul(density, Div(p, q));
}
