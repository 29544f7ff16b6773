// SPDX-License-Identifier: MIT
// Quick steps of trigonometric functions of doubles: sums of two doubles, good to about 2^-68, and the test whether
// that decides how to round (Ziv, 1991). Constants from tools/coefficients/double_trig.py.

/// high + low, rounded, where an error up to `error` does not change that and the mask `usual` is set; elsewhere the
/// accurate step f(x...). The test is false for NaN.
template <class D, class M, class V, class F, class... Vs>
REPDL_LANE V RoundOr(D d, M usual, V high, V low, V error, F f, Vs... x) {
  const V y = RoundedWithin(high, low, error, usual);
  const auto undecided = Not(usual);
  if (Any(d, undecided)) return IfThenEach(d, undecided, f, y, x...);
  return y;
}

/// The same for a result that has the sign of `sign`, which its parts have not yet.
template <class D, class M, class V, class F, class... Vs>
REPDL_LANE V RoundOrWithSign(D d, M usual, V high, V low, V error, V sign, F f, Vs... x) {
  const V with_sign = CopySign(RoundedWithin(high, low, error, usual), sign);
  const auto undecided = Not(usual);
  if (Any(d, undecided)) return IfThenEach(d, undecided, f, with_sign, x...);
  return with_sign;
}

/// The product of two sums; its low part is not made small.
template <class V>
REPDL_LANE V MulPairs(V a, V a_low, V b, V b_low, V& low) {
  V error;
  const V product = TwoProd(a, b, error);
  low = Fma(a, b_low, Fma(a_low, b, error));
  return product;
}

/// The quotient of two sums.
template <class D, class V>
REPDL_LANE V DivPairs(D d, V a, V a_low, V b, V b_low, V& low) {
  const V inverse = Div(Set(d, 1.0), b);
  const V quotient = Mul(a, inverse);
  low = Mul(Fma(Neg(quotient), b_low, Add(Fma(Neg(quotient), b, a), a_low)), inverse);
  return quotient;
}

/// A step of Horner's scheme: c + y z.
template <class D, class V>
REPDL_LANE V HornerPair(D d, V y, V& y_low, V z, V z_low, double c, double c_low) {
  V product_low, error;
  const V product = MulPairs(y, y_low, z, z_low, product_low);
  const V sum = FastTwoSum(Set(d, c), product, error);
  y_low = Add(error, Add(Set(d, c_low), product_low));
  return sum;
}

/// c + y, for a y that is so much less than c that the error of a double is enough.
template <class D, class V>
REPDL_LANE V AddToPair(D d, V y, double c, double c_low, V& low) {
  V error;
  const V sum = FastTwoSum(Set(d, c), y, error);
  low = Add(error, Set(d, c_low));
  return sum;
}

/// (r + r_low)^2.
template <class V>
REPDL_LANE V SquarePair(V r, V r_low, V& low) {
  V error;
  const V square = TwoProd(r, r, error);
  low = Fma(Add(r, r), r_low, error);
  return square;
}

/// r (1 + z p), z = r^2.
template <class V>
REPDL_LANE V OddPair(V r, V r_low, V z, V z_low, V p, V p_low, V& low) {
  V product_low, term_low, error;
  const V product = MulPairs(z, z_low, p, p_low, product_low);
  const V term = MulPairs(r, r_low, product, product_low, term_low);
  const V sum = FastTwoSum(r, term, error);
  low = Add(error, Add(r_low, term_low));
  return sum;
}

/// r = a - h pi / scale, in three parts of pi, for h up to 2^26 or so and |r| < 2. For integers h the first step is
/// exact: it leaves no bit below 2^-52. For halves it may round for a < 1, where h is 1/2 and what is lost is known.
template <bool kHalves, class D, class V>
REPDL_LANE V RemainderPair(D d, V a, V h, double scale, V& r_low) {
  const V pi = Set(d, 0x1.921fb54442d18p+1 / scale);
  const V first = Fma(Neg(h), pi, a);
  V product_error, error;
  const V product = TwoProd(h, Set(d, 0x1.1a62633145c07p-53 / scale), product_error);
  const V r = TwoSum(first, Neg(product), error);
  r_low = Fma(h, Set(d, 0x1.f1976b7ed8fbcp-109 / scale), Sub(error, product_error));
  if constexpr (kHalves) {
    r_low = Add(r_low, IfThenElseZero(Lt(a, Set(d, 1.0)), Sub(a, Add(first, Mul(h, pi)))));
  }
  return r;
}

/// From here on the remainder is left to the accurate step.
constexpr double kLargeAngle = 0x1p26;

/// sin(r) for |r| <= pi / 2.
template <class D, class V>
REPDL_LANE V SinePair(D d, V r, V r_low, V& low) {
  V z_low, p_low;
  const V z = SquarePair(r, r_low, z_low);
  V q = Set(d, 0x1.69de2c233491ap-66);
  q = Fma(q, z, Set(d, -0x1.2f38512a24d98p-57));
  q = Fma(q, z, Set(d, 0x1.952c4ebe42748p-49));
  q = Fma(q, z, Set(d, -0x1.ae7f3e3ffd826p-41));
  q = Fma(q, z, Set(d, 0x1.6124613a64fb6p-33));
  q = Fma(q, z, Set(d, -0x1.ae64567f543c3p-26));
  V p = AddToPair(d, Mul(q, z), 0x1.71de3a556c734p-19, -0x1.c154f8ddc6c00p-73, p_low);
  p = HornerPair(d, p, p_low, z, z_low, -0x1.a01a01a01a01ap-13, -0x1.a01a01a01a01ap-73);
  p = HornerPair(d, p, p_low, z, z_low, 0x1.1111111111111p-7, 0x1.1111111111111p-63);
  p = HornerPair(d, p, p_low, z, z_low, -0x1.5555555555555p-3, -0x1.5555555555555p-57);
  return OddPair(r, r_low, z, z_low, p, p_low, low);
}

/// sin(r) and cos(r) for |r| <= pi / 4.
template <class D, class V>
REPDL_LANE void SineAndCosinePairs(D d, V r, V r_low, V& sine, V& sine_low, V& cosine, V& cosine_low) {
  V z_low, p_low;
  const V z = SquarePair(r, r_low, z_low);
  V q = Set(d, 0x1.92830efc5eca3p-49);
  q = Fma(q, z, Set(d, -0x1.ae7ce737f1d9ap-41));
  q = Fma(q, z, Set(d, 0x1.6124603a272f1p-33));
  q = Fma(q, z, Set(d, -0x1.ae64567eea299p-26));
  q = Fma(q, z, Set(d, 0x1.71de3a556c625p-19));
  V p = AddToPair(d, Mul(q, z), -0x1.a01a01a01a01ap-13, -0x1.a01a01a01a01ap-73, p_low);
  p = HornerPair(d, p, p_low, z, z_low, 0x1.1111111111111p-7, 0x1.1111111111111p-63);
  p = HornerPair(d, p, p_low, z, z_low, -0x1.5555555555555p-3, -0x1.5555555555555p-57);
  sine = OddPair(r, r_low, z, z_low, p, p_low, sine_low);
  q = Set(d, 0x1.ab565ae0d9363p-45);
  q = Fma(q, z, Set(d, -0x1.9394834a4b52ep-37));
  q = Fma(q, z, Set(d, 0x1.1eed8dcf44df4p-29));
  q = Fma(q, z, Set(d, -0x1.27e4fb770bfc6p-22));
  q = Fma(q, z, Set(d, 0x1.a01a01a019d98p-16));
  p = AddToPair(d, Mul(q, z), -0x1.6c16c16c16c17p-10, 0x1.f49f49f49f49fp-65, p_low);
  p = HornerPair(d, p, p_low, z, z_low, 0x1.5555555555555p-5, 0x1.5555555555555p-59);
  p = HornerPair(d, p, p_low, z, z_low, -0.5, 0.0);
  cosine = HornerPair(d, p, p_low, z, z_low, 1.0, 0.0);
  cosine_low = p_low;
}

// atan(i / 16)
REPDL_TABLE(Sixteenths, double, 16, 0.0, 0x1.ff55bb72cfdeap-5, 0x1.fd5ba9aac2f6ep-4, 0x1.7b97b4bce5b02p-3,
            0x1.f5b75f92c80ddp-3, 0x1.362773707ebccp-2, 0x1.6f61941e4def1p-2, 0x1.a64eec3cc23fdp-2,
            0x1.dac670561bb4fp-2, 0x1.0657e94db30d0p-1, 0x1.1e00babdefeb4p-1, 0x1.345f01cce37bbp-1,
            0x1.4978fa3269ee1p-1, 0x1.5d58987169b18p-1, 0x1.700a7c5784634p-1, 0x1.819d0b7158a4dp-1)
REPDL_TABLE(SixteenthsLow, double, 16, 0.0, -0x1.c934d86d23f1dp-60, -0x1.cd37686760c17p-59, 0x1.347b0b4f881cap-58,
            0x1.8ab6e3cf7afbdp-57, -0x1.963a544b672d8p-57, -0x1.c63aae6f6e918p-56, -0x1.24dec1b50b7ffp-56,
            0x1.a2b7f222f65e2p-56, -0x1.d5b495f6349e6p-56, -0x1.928df287a668fp-58, 0x1.1021137c71102p-55,
            0x1.2419a87f2a458p-56, 0x1.0028e4bc5e7cap-57, -0x1.8c34d25aadef6p-56, -0x1.bf76229d3b917p-56)

/// atan(y / x) for 0 <= y <= x, not both 0: with c = i / 16 near y / x it is atan(c) + atan(u),
/// u = (y - c x) / (x + c y), |u| < 1/30.
template <class D, class V>
REPDL_LANE V AtanPair(D d, V y, V y_low, V x, V x_low, V& low) {
  const IntTag<D> di;
  const V shift = Set(d, 0x1.8p52);
  const V i = Min(Sub(Fma(Div(y, x), Set(d, 16.0), shift), shift), Set(d, 15.0));
  const auto index = BitCast(di, Add(i, shift));
  const V c = Mul(i, Set(d, 0.0625));
  V product_low, num_error, den_error;
  V product = MulPairs(c, Zero(d), x, x_low, product_low);
  const V num = TwoSum(y, Neg(product), num_error);
  const V num_low = Add(num_error, Sub(y_low, product_low));
  product = MulPairs(c, Zero(d), y, y_low, product_low);
  const V den = FastTwoSum(x, product, den_error);
  const V den_low = Add(den_error, Add(x_low, product_low));
  V u_low, z_low, p_low, s_low, term_low;
  const V u = DivPairs(d, num, num_low, den, den_low, u_low);
  const V z = SquarePair(u, u_low, z_low);
  V q = Set(d, -0x1.736a7f9a84805p-4);
  q = Fma(q, z, Set(d, 0x1.c71c2f0cb3dbep-4));
  q = Fma(q, z, Set(d, -0x1.24924920bf1f2p-3));
  q = Fma(q, z, Set(d, 0x1.9999999999731p-3));
  const V p = AddToPair(d, Mul(q, z), -0x1.5555555555555p-2, -0x1.5555555555555p-56, p_low);
  const V s = MulPairs(z, z_low, p, p_low, s_low);
  const V term = MulPairs(u, u_low, s, s_low, term_low);
  V error, term_error;
  V sum = FastTwoSum(LookUp<16>(d, Sixteenths(), index), u, error);
  sum = FastTwoSum(sum, term, term_error);
  low = Add(Add(error, term_error), Add(Add(u_low, term_low), LookUp<16>(d, SixteenthsLow(), index)));
  return sum;
}

/// start + angle, or start - angle: `start` is 0, pi / 2 or pi, of which the low part is this part of the high one.
template <class D, class V>
REPDL_LANE V AngleFrom(D d, V start, V angle, V angle_low, V& low) {
  V error;
  const V sum = FastTwoSum(start, angle, error);
  low = Add(error, Fma(start, Set(d, 0x1.678afae35cdd1p-55), angle_low));
  return sum;
}

/// sqrt(1 - a^2).
template <class D, class V>
REPDL_LANE V OtherSidePair(D d, V a, V& low) {
  V square_low, error;
  const V square = TwoProd(a, a, square_low);
  V rest = FastTwoSum(Set(d, 1.0), Neg(square), error);
  rest = TwoSum(rest, Sub(error, square_low), error);
  const V root = Sqrt(rest);
  low = Div(Add(Fma(Neg(root), root, rest), error), Add(root, root));
  return root;
}
