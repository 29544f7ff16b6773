// SPDX-License-Identifier: MIT
// The neighbours of places, in lane words; the contract stands in grid_sample.h.

/// The largest whole numbers that are not above x. Zeros keep their sign, which Highway's Floor loses on SSE2.
template <class V>
REPDL_ROW V FloorOf(V x) {
  return CopySign(Floor(x), x);
}

/// Whether whole numbers are odd.
template <class V>
REPDL_ROW auto IsOdd(V x) {
  const V half = FloorOf(Mul(x, Set(TagFor(x), 0.5f)));
  return NotEq(Add(half, half), x);
}

/// x - n * y for the largest whole n, of x >= 0 and y > 0; each difference is exact. NaN for an infinity.
template <class V>
REPDL_ROW V Remainder(V x, V y) {
  const auto d = TagFor(x);
  x = IfThenElse(Lt(x, Inf(d)), x, Sub(Inf(d), Inf(d)));
  for (auto more = Ge(x, y); Any(d, more); more = Ge(x, y)) {
    V part = y;
    for (auto fits = Le(Add(part, part), x); Any(d, fits); fits = Le(Add(part, part), x)) {
      part = IfThenElse(fits, Add(part, part), part);
    }
    x = IfThenElse(more, Sub(x, part), x);
  }
  return x;
}

/// Finds the neighbours of places along one axis.
template <class T>
struct GridAxis {
  GridMode mode;
  GridPadding padding;
  bool align_corners;
  int64_t size;

  /// Calls put(k, place, weight, slope) for neighbour k of each; a slope is the derivative of a weight.
  template <class D, class V, class Put>
  REPDL_ROW void Find(D d, V g, const Put& put) const {
    const V one = Set(d, 1), length = Set(d, static_cast<T>(size));
    const V x = align_corners ? Mul(Add(g, one), Set(d, static_cast<T>(static_cast<double>(size - 1) / 2)))
                              : Mul(Sub(Mul(Add(g, one), length), one), Set(d, 0.5f));
    V slope = one;
    if (mode == GridMode::kCubic) {
      const V two = Set(d, 2), low = FloorOf(x), t = Sub(x, low), rest = Sub(one, t), before = Add(t, one);
      const V after = Sub(two, t);
      put(0, Hold(d, Sub(low, one), slope), Far(d, before), FarSlope(d, before));
      put(1, Hold(d, low, slope), Near(d, t), NearSlope(d, t));
      put(2, Hold(d, Add(low, one), slope), Near(d, rest), Neg(NearSlope(d, rest)));
      put(3, Hold(d, Add(low, two), slope), Far(d, after), Neg(FarSlope(d, after)));
      return;
    }
    const V place = Hold(d, x, slope);
    if (mode == GridMode::kNearest) return put(0, Round(place), one, Zero(d));
    const V low = FloorOf(place), next = Add(low, one);
    put(0, low, Sub(next, place), Neg(slope));
    put(1, next, Sub(place, low), slope);
  }

  /// Whether places are those of elements.
  template <class D, class V>
  REPDL_ROW auto IsInside(D d, V place) const {
    return And(Ge(place, Zero(d)), Lt(place, Set(d, static_cast<T>(size))));
  }

 private:
  static constexpr T kA = static_cast<T>(-0.75);

  template <class D, class V>
  REPDL_ROW static V Near(D d, V x) {
    return Add(Mul(Mul(Sub(Mul(Set(d, kA + 2), x), Set(d, kA + 3)), x), x), Set(d, 1));
  }
  template <class D, class V>
  REPDL_ROW static V Far(D d, V x) {
    return Sub(Mul(Add(Mul(Sub(Mul(Set(d, kA), x), Set(d, 5 * kA)), x), Set(d, 8 * kA)), x), Set(d, 4 * kA));
  }
  template <class D, class V>
  REPDL_ROW static V NearSlope(D d, V x) {
    return Mul(Sub(Mul(Set(d, 3 * (kA + 2)), x), Set(d, 2 * (kA + 3))), x);
  }
  template <class D, class V>
  REPDL_ROW static V FarSlope(D d, V x) {
    return Add(Mul(Sub(Mul(Set(d, 3 * kA), x), Set(d, 10 * kA)), x), Set(d, 8 * kA));
  }

  /// The place that padding makes of a place, and the derivative.
  template <class D, class V>
  REPDL_ROW V Hold(D d, V x, V& slope) const {
    if (padding == GridPadding::kZeros) return x;
    const V last = Set(d, static_cast<T>(size - 1));
    slope = Set(d, 1);
    if (padding == GridPadding::kReflection) {
      const V low = Set(d, align_corners ? T{0} : static_cast<T>(-0.5));
      const T length = static_cast<T>(align_corners ? size - 1 : size);
      if (length == 0) {
        slope = Zero(d);
        return Zero(d);
      }
      const V span = Set(d, length);
      const auto below = Lt(x, low);
      const V away = IfThenElse(below, Sub(low, x), Sub(x, low));
      const V rest = Remainder(away, span);
      const auto is_mirrored = IsOdd(FloorOf(Div(away, span)));
      slope = IfThenElse(Xor(below, is_mirrored), Neg(slope), slope);
      x = Add(IfThenElse(is_mirrored, Sub(span, rest), rest), low);
    }
    slope = IfThenElseZero(And(Gt(x, Zero(d)), Lt(x, last)), slope);
    return IfThenElse(Lt(x, Zero(d)), Zero(d), IfThenElse(Gt(x, last), last, x));
  }
};

template <class T>
REPDL_ROW GridAxis<T> AxisOf(const GridSampleArgs<T>& args, int axis) {
  return {args.mode, args.padding, args.align_corners, args.sizes[axis]};
}

/// Neighbours of a place along each axis.
REPDL_ROW int TapsOf(GridMode mode) { return mode == GridMode::kCubic ? 4 : mode == GridMode::kNearest ? 1 : 2; }
