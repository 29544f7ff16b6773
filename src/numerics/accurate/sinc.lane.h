// SPDX-License-Identifier: MIT
// The accurate step of sinc, for every argument.

REPDL_ACCURATE double Sinc(double x) {
  const double a = Abs(x);
  if (!(a <= 0x1.fffffffffffffp+1023)) return Sub(x, x);
  if (a < 0x1p-30) return 1.0;
  const double n = Round(a);
  const double f = Sub(a, n);  // exact
  if (Eq(f, 0.0)) return 0.0;
  const double y = Rounded(Div(SineOfTurn(f), Mul(Set(Constant::kPi), a)), 0);
  return IsOdd(n) ? Neg(y) : y;
}
