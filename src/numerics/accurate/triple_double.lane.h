// SPDX-License-Identifier: MIT
// Numbers of about 155 bits as unevaluated sums of three doubles, each at most about half an ulp of the one before it,
// for the few arguments whose result lies so near a midpoint that a quick step does not tell the side. In words for one
// number.

struct Triple {
  double high, middle, low;
};

REPDL_ACCURATE_PART Triple Normalized(double high, double middle, double low) {
  middle = TwoSum(middle, low, low);
  high = TwoSum(high, middle, middle);
  middle = TwoSum(middle, low, low);
  return {high, middle, low};
}

REPDL_ACCURATE_PART Triple Neg(Triple x) { return {Neg(x.high), Neg(x.middle), Neg(x.low)}; }

REPDL_ACCURATE_PART Triple Add(Triple x, double y) {
  double error, rest;
  const double high = TwoSum(x.high, y, error);
  const double middle = TwoSum(x.middle, error, rest);
  return Normalized(high, middle, Add(x.low, rest));
}

REPDL_ACCURATE_PART Triple Add(Triple x, Triple y) {
  double error, middle_error, rest;
  const double high = TwoSum(x.high, y.high, error);
  double middle = TwoSum(x.middle, y.middle, middle_error);
  middle = TwoSum(middle, error, rest);
  return Normalized(high, middle, Add(Add(x.low, y.low), Add(middle_error, rest)));
}

REPDL_ACCURATE_PART Triple Sub(Triple x, Triple y) { return Add(x, Neg(y)); }

REPDL_ACCURATE_PART Triple Mul(Triple x, double y) {
  double error, middle_error, rest;
  const double high = TwoProd(x.high, y, error);
  double middle = TwoProd(x.middle, y, middle_error);
  middle = TwoSum(middle, error, rest);
  return Normalized(high, middle, Fma(x.low, y, Add(middle_error, rest)));
}

REPDL_ACCURATE_PART Triple Mul(Triple x, Triple y) {
  double error, error1, error2, rest1, rest2;
  const double high = TwoProd(x.high, y.high, error);
  const double product1 = TwoProd(x.high, y.middle, error1);
  const double product2 = TwoProd(x.middle, y.high, error2);
  double middle = TwoSum(product1, product2, rest1);
  middle = TwoSum(middle, error, rest2);
  double low = Fma(x.high, y.low, Fma(x.low, y.high, Mul(x.middle, y.middle)));
  low = Add(low, Add(Add(error1, error2), Add(rest1, rest2)));
  return Normalized(high, middle, low);
}

REPDL_ACCURATE_PART Triple Square(double x) {
  double error;
  const double high = TwoProd(x, x, error);
  return {high, error, 0.0};
}

/// Both words by digits of a double: a quotient or root of what is left.
REPDL_ACCURATE_PART Triple Div(Triple x, Triple y) {
  const double first = Div(x.high, y.high);
  x = Sub(x, Mul(y, first));
  const double second = Div(x.high, y.high);
  x = Sub(x, Mul(y, second));
  return Normalized(first, second, Div(x.high, y.high));
}

REPDL_ACCURATE_PART Triple Sqrt(Triple x) {
  if (Eq(x.high, 0.0)) return x;
  const double first = Sqrt(x.high), twice = Add(first, first);
  Triple rest = Sub(x, Square(first));
  const double second = Div(rest.high, twice);
  rest = Sub(rest, Add(Mul({second, 0.0, 0.0}, twice), Square(second)));
  return Normalized(first, second, Div(rest.high, twice));
}

/// 2^n for a normal result.
REPDL_ACCURATE_PART double PowerOfTwo(int n) {
  return BitCast(Tag<double>(), ShiftLeft<52>(static_cast<int64_t>(n) + 1023));
}

REPDL_ACCURATE_PART Triple Scaled(Triple x, int n) {
  const double scale = PowerOfTwo(n);
  return {Mul(x.high, scale), Mul(x.middle, scale), Mul(x.low, scale)};
}

/// The exponent of a normal number.
REPDL_ACCURATE_PART int ExponentOf(double x) {
  return static_cast<int>(And(ShiftRightLogical<52>(BitCast(Tag<int64_t>(), x)), int64_t{0x7ff})) - 1023;
}

/// x = the result times 2^exponent, the result of [1, 2), for a finite x > 0.
REPDL_ACCURATE_PART double Fraction(double x, int& exponent) {
  const bool subnormal = Lt(x, 0x1p-1022);
  if (subnormal) x = Mul(x, 0x1p64);
  const int normal = ExponentOf(x);
  exponent = subnormal ? normal - 64 : normal;
  return normal > 1022 ? Mul(Mul(x, 0x1p-1022), 0.5) : Mul(x, PowerOfTwo(-normal));
}

/// x 2^exponent as a double, rounded once: a subnormal one too. exponent is from -2000 to 1023.
REPDL_ACCURATE_PART double Rounded(Triple x, int exponent) {
  if (Eq(x.high, 0.0)) return x.high;
  const int half = exponent / 2;
  const double scale = PowerOfTwo(half), other_scale = PowerOfTwo(exponent - half);
  // Where it makes a subnormal number of 2^-1022, the last product rounds that up again.
  if (ExponentOf(x.high) + exponent >= -1022) {
    return Mul(Mul(Add(x.high, RoundToOdd(x.middle, x.low)), scale), other_scale);
  }
  if (x.high < 0.0) return Neg(Rounded(Neg(x), exponent));
  // The ulp of this one, and of a sum below twice that, is the unit of the subnormal numbers.
  const double grid = PowerOfTwo(-1022 - exponent);
  double error, rest;
  const double sum = TwoSum(grid, x.high, error);
  error = TwoSum(error, x.middle, rest);
  return Mul(Mul(Sub(Add(sum, RoundToOdd(error, Add(rest, x.low))), grid), scale), other_scale);
}

// pi, pi / 2, 2 / sqrt(pi), sqrt(pi) / 2, 1 / sqrt(pi), 1 / sqrt(2), 1 / sqrt(2 pi), ln 2.
REPDL_TABLE(Constants, double, 8, 0x1.921fb54442d18p+1, 0x1.921fb54442d18p+0, 0x1.20dd750429b6dp+0,
            0x1.c5bf891b4ef6bp-1, 0x1.20dd750429b6dp-1, 0x1.6a09e667f3bcdp-1, 0x1.9884533d43651p-2,
            0x1.62e42fefa39efp-1)
REPDL_TABLE(ConstantsLow, double, 8, 0x1.1a62633145c07p-53, 0x1.1a62633145c07p-54, 0x1.1ae3a914fed80p-56,
            -0x1.618f13eb7ca89p-55, 0x1.1ae3a914fed80p-57, -0x1.bdd3413b26456p-55, -0x1.cbc0d30ebfd15p-56,
            0x1.abc9e3b39803fp-56)
REPDL_TABLE(ConstantsLowest, double, 8, -0x1.f1976b7ed8fbcp-109, -0x1.f1976b7ed8fbcp-110, -0x1.3cbbebf65f145p-111,
            -0x1.b1f0071b7aae4p-111, -0x1.3cbbebf65f145p-112, 0x1.57d3e3adec175p-109, -0x1.c7402c7d60cfbp-112,
            0x1.7b57a079a1934p-111)

enum class Constant : int {
  kPi,
  kHalfPi,
  kErfSlope,
  kErfinvSlope,
  kInverseSqrtPi,
  kInverseSqrt2,
  kNormalDensity,
  kLn2
};

REPDL_ACCURATE_PART Triple Set(Constant name) {
  const int i = static_cast<int>(name);
  return {Constants()[i], ConstantsLow()[i], ConstantsLowest()[i]};
}

// 1 / n!
REPDL_TABLE(Factorials, double, 42, 0x1p+0, 0x1p+0, 0x1p-1, 0x1.5555555555555p-3, 0x1.5555555555555p-5,
            0x1.1111111111111p-7, 0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
            0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29,
            0x1.6124613a86d09p-33, 0x1.93974a8c07c9dp-37, 0x1.ae7f3e733b81fp-41, 0x1.ae7f3e733b81fp-45,
            0x1.952c77030ad4ap-49, 0x1.6827863b97d97p-53, 0x1.2f49b46814157p-57, 0x1.e542ba4020225p-62,
            0x1.71b8ef6dcf572p-66, 0x1.0ce396db7f853p-70, 0x1.761b41316381ap-75, 0x1.f2cf01972f578p-80,
            0x1.3f3ccdd165fa9p-84, 0x1.88e85fc6a4e5ap-89, 0x1.d1ab1c2dccea3p-94, 0x1.0a18a2635085dp-98,
            0x1.259f98b4358adp-103, 0x1.3932c5047d60ep-108, 0x1.434d2e783f5bcp-113, 0x1.434d2e783f5bcp-118,
            0x1.3981254dd0d52p-123, 0x1.2710231c0fd7ap-128, 0x1.0dc59c716d91fp-133, 0x1.df983290c2ca9p-139,
            0x1.9ec8d1c94e85bp-144, 0x1.5d4acb9c0c3abp-149, 0x1.1e99449a4bacep-154, 0x1.ca8ed42a12ae3p-160,
            0x1.65e61c39d0241p-165)
REPDL_TABLE(FactorialsLow, double, 42, 0.0, 0.0, 0.0, 0x1.5555555555555p-57, 0x1.5555555555555p-59,
            0x1.1111111111111p-63, -0x1.f49f49f49f49fp-65, 0x1.a01a01a01a01ap-73, 0x1.a01a01a01a01ap-76,
            -0x1.c154f8ddc6c00p-73, 0x1.cbbc05b4fa99ap-76, -0x1.c062e06d1f209p-80, -0x1.2aec959e14c06p-83,
            0x1.f28e0cc748ebep-87, 0x1.05d6f8a2efd1fp-92, 0x1.1d8656b0ee8cbp-97, 0x1.1d8656b0ee8cbp-101,
            0x1.ac981465ddc6cp-103, 0x1.eec01221a8b0bp-107, 0x1.2650f61dbdcb4p-112, 0x1.ea72b4afe3c2fp-120,
            -0x1.d043ae40c4647p-120, -0x1.aebcdbd20331cp-124, -0x1.3423c7d91404fp-130, -0x1.9ada5fcc1ab14p-135,
            -0x1.58ddadf344487p-139, -0x1.71c37ebd16540p-143, 0x1.054d0c78aea14p-149, 0x1.b9e2e28e1aa54p-153,
            0x1.eaf8c39dd9bc5p-157, 0x1.832b7b530a627p-162, 0x1.0b87b91be9affp-167, 0x1.0b87b91be9affp-172,
            -0x1.2b1f4c8015a2fp-177, 0x1.3f8a2b4af9d6bp-184, 0x1.419e3fad3f031p-188, 0x1.5835c6895393bp-194,
            -0x1.670e9d4784ec6p-201, -0x1.6ec2c8f5b13b2p-205, -0x1.fefbb89514b3cp-210, 0x1.a07244abad2abp-224,
            -0x1.c0ed181727269p-220)
REPDL_TABLE(FactorialsLowest, double, 42, 0.0, 0.0, 0.0, 0x1.5555555555555p-111, 0x1.5555555555555p-113,
            0x1.1111111111111p-119, -0x1.27d27d27d27d2p-119, 0x1.a01a01a01a01ap-133, 0x1.a01a01a01a01ap-136,
            0x1.71de3a556c734p-127, -0x1.c6d278883e8f5p-132, 0x1.c7880adcbc46ep-136, 0x1.2fb0073dd2d9ep-139,
            -0x1.7b2c4c8a840bcp-141, 0x1.3aa3346236a5dp-147, -0x1.6e142a138f825p-157, -0x1.6e142a138f825p-161,
            -0x1.588b72e53bc5fp-165, -0x1.568798662118bp-161, -0x1.69502917cbf3bp-166, -0x1.44020dfd65c8cp-174,
            0x1.486121e81d5fep-176, -0x1.38a88578b4d75p-178, 0x1.e6135bfc1194ap-185, 0x1.440ce7fd610dcp-189,
            -0x1.e8ed8001ad67ep-193, 0x1.494676265a364p-197, -0x1.196bf16c33a56p-203, 0x1.a8549a9d99586p-207,
            -0x1.6e29990a26fb6p-211, 0x1.5d2c61f6d124cp-218, 0x1.c89db1796db75p-224, 0x1.c89db1796db75p-229,
            -0x1.d82af23edb6dbp-231, 0x1.c32215a9f317ep-238, 0x1.d9d7ed1981ffcp-244, -0x1.0578f45b1aaaep-249,
            0x1.79fe5954939a2p-255, 0x1.e2860aaa59188p-259, -0x1.53433f743a2d9p-264, 0x1.facdac6fb71b7p-278,
            -0x1.abbd2f56bbc2fp-276)

/// The sum of x^k / (first + step k)! for k < terms; from k = in_double on, a double is enough for the sum.
REPDL_ACCURATE_PART Triple SumOfPowers(Triple x, int first, int step, int in_double, int terms) {
  double sum = Factorials()[first + step * (terms - 1)];
  for (int k = terms - 2; k >= in_double; --k) sum = Fma(sum, x.high, Factorials()[first + step * k]);
  Triple y{sum, 0.0, 0.0};
  for (int k = in_double - 1; k >= 0; --k) {
    const int n = first + step * k;
    y = Add(Mul(y, x), Triple{Factorials()[n], FactorialsLow()[n], FactorialsLowest()[n]});
  }
  return y;
}

/// sin(r) and cos(r) for |r| <= 0.8.
REPDL_ACCURATE_PART void SineAndCosine(Triple r, Triple& sine, Triple& cosine) {
  const Triple z = Neg(Mul(r, r));
  sine = Mul(SumOfPowers(z, 1, 2, 14, 20), r);
  cosine = SumOfPowers(z, 0, 2, 15, 20);
}

/// e^x = the result times 2^exponent, for -2000 < x < 700.
REPDL_ACCURATE_PART Triple Exp(Triple x, int& exponent) {
  const double n = Round(Mul(x.high, 0x1.71547652b82fep+0));
  exponent = static_cast<int>(n);
  return SumOfPowers(Sub(x, Mul(Set(Constant::kLn2), n)), 0, 1, 23, 32);
}
