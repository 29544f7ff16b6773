// SPDX-License-Identifier: MIT
// The steps of transforms, in lane words; the contract stands in fft.h. Arrays hold numbers as their elements can.

/// (a + bi) (c + di)
template <class V>
REPDL_LANE void Times(V a, V b, V c, V d, V& re, V& im) {
  re = Sub(Mul(a, c), Mul(b, d));
  im = Add(Mul(b, c), Mul(a, d));
}

/// Sums of p products with the powers of w(p), p odd. kP is p or 0.
template <class V, int kP, class Element, class T, class Put>
REPDL_LANE void OddSums(const Element* a_re, const Element* a_im, int64_t any_p, const T* inside, const Put& put) {
  const auto d = TagFor(V(a_re[0]));
  const int64_t p = kP == 0 ? any_p : kP, half = p / 2;
  constexpr int kMaxHalf = (kP == 0 ? static_cast<int>(kMaxFftFactor) : kP) / 2;
  Element s_re[kMaxHalf], s_im[kMaxHalf], d_re[kMaxHalf], d_im[kMaxHalf];
  V sum_re = a_re[0], sum_im = a_im[0];
#pragma GCC unroll 3
  for (int64_t q = 1; q <= half; ++q) {
    s_re[q - 1] = Add(V(a_re[q]), V(a_re[p - q]));
    s_im[q - 1] = Add(V(a_im[q]), V(a_im[p - q]));
    d_re[q - 1] = Sub(V(a_re[q]), V(a_re[p - q]));
    d_im[q - 1] = Sub(V(a_im[q]), V(a_im[p - q]));
    sum_re = Add(sum_re, V(s_re[q - 1]));
    sum_im = Add(sum_im, V(s_im[q - 1]));
  }
  put(0, sum_re, sum_im);
#pragma GCC unroll 3
  for (int64_t j = 1; j <= half; ++j) {
    const T* const cosine = inside + j - 1;
    const T* const sine = cosine + half * half;
    V even_re = Add(V(a_re[0]), Mul(V(s_re[0]), Set(d, cosine[0])));
    V even_im = Add(V(a_im[0]), Mul(V(s_im[0]), Set(d, cosine[0])));
    V odd_re = Mul(V(d_re[0]), Set(d, sine[0])), odd_im = Mul(V(d_im[0]), Set(d, sine[0]));
#pragma GCC unroll 3
    for (int64_t q = 2; q <= half; ++q) {
      const V c = Set(d, cosine[(q - 1) * half]), s = Set(d, sine[(q - 1) * half]);
      even_re = Add(even_re, Mul(V(s_re[q - 1]), c));
      even_im = Add(even_im, Mul(V(s_im[q - 1]), c));
      odd_re = Add(odd_re, Mul(V(d_re[q - 1]), s));
      odd_im = Add(odd_im, Mul(V(d_im[q - 1]), s));
    }
    put(j, Add(even_re, odd_im), Sub(even_im, odd_re));
    put(p - j, Sub(even_re, odd_im), Add(even_im, odd_re));
  }
}

/// The transform of p numbers, which are times their roots: put(j, re, im) takes number j. kP is p, or 0 for any odd one,
/// whose cosines and sines are `inside`.
template <class V, int kP, class Element, class T, class Put>
REPDL_LANE void Butterfly(const Element* a_re, const Element* a_im, int64_t p, const T* inside, const Put& put) {
  if constexpr (kP == 2) {
    put(0, Add(V(a_re[0]), V(a_re[1])), Add(V(a_im[0]), V(a_im[1])));
    put(1, Sub(V(a_re[0]), V(a_re[1])), Sub(V(a_im[0]), V(a_im[1])));
  } else if constexpr (kP == 4) {
    const V even_re = Add(V(a_re[0]), V(a_re[2])), even_im = Add(V(a_im[0]), V(a_im[2]));
    const V odd_re = Add(V(a_re[1]), V(a_re[3])), odd_im = Add(V(a_im[1]), V(a_im[3]));
    const V other_re = Sub(V(a_re[0]), V(a_re[2])), other_im = Sub(V(a_im[0]), V(a_im[2]));
    // -i (a[1] - a[3])
    const V turned_re = Sub(V(a_im[1]), V(a_im[3])), turned_im = Sub(V(a_re[3]), V(a_re[1]));
    put(0, Add(even_re, odd_re), Add(even_im, odd_im));
    put(1, Add(other_re, turned_re), Add(other_im, turned_im));
    put(2, Sub(even_re, odd_re), Sub(even_im, odd_im));
    put(3, Sub(other_re, turned_re), Sub(other_im, turned_im));
  } else {
    OddSums<V, kP>(a_re, a_im, p, inside, put);
  }
}

/// ((Z + Z') + root (Z - Z')) / 2 of Z = a + bi, Z' = c - di.
template <class V>
REPDL_LANE void Untangle(V a, V b, V c, V d, V root_re, V root_im, V& re, V& im) {
  Times(Sub(a, c), Add(b, d), root_re, root_im, re, im);
  const V half = Set(TagFor(a), 0.5f);
  re = Mul(Add(Add(a, c), re), half);
  im = Mul(Add(Sub(b, d), im), half);
}

/// (X + X') + root (X - X') of X = a + bi, X' = c - di.
template <class V>
REPDL_LANE void Tangle(V a, V b, V c, V d, V root_re, V root_im, V& re, V& im) {
  Times(Sub(a, c), Add(b, d), root_re, root_im, re, im);
  re = Add(Add(a, c), re);
  im = Add(Sub(b, d), im);
}
