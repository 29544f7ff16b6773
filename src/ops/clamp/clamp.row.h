// SPDX-License-Identifier: MIT
// What the ops do to an element, in lane words; the contracts stand in clamp.h.

struct ClampToTensors {
  template <class D, class V>
  REPDL_ROW V operator()(D, V x, V min, V max) const {
    return ClampMax(ClampMin(x, min), max);
  }
};

// An infinite bound changes nothing.
template <class T>
struct ClampFromBelow {
  T min;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    return ClampMin(x, Set(d, min));
  }
};
template <class T>
struct ClampFromAbove {
  T max;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    return ClampMax(x, Set(d, max));
  }
};
template <class T>
struct ClampToNumbers {
  T min, max;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V x) const {
    return ClampMax(ClampMin(x, Set(d, min)), Set(d, max));
  }
};

/// run.operator()<number of operands>(text) with the text of the call.
template <class T, class Run>
void WithClamp(const ClampArgs& args, const Run& run) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T min = static_cast<T>(args.min), max = static_cast<T>(args.max);
  if (args.map.num_inputs == 3) return run.template operator()<3>(ClampToTensors());
  if (max == kInfinity) return run.template operator()<1>(ClampFromBelow<T>{min});
  if (min == -kInfinity) return run.template operator()<1>(ClampFromAbove<T>{max});
  run.template operator()<1>(ClampToNumbers<T>{min, max});
}
