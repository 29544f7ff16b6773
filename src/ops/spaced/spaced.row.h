// SPDX-License-Identifier: MIT
// What the op does to an element, in lane words; the contract stands in spaced.h.

template <class T>
struct SpacedText {
  T start, end, step, last, middle;

  template <class D, class V>
  REPDL_ROW V operator()(D d, V i) const {
    const V upwards = Add(Set(d, start), Mul(Set(d, step), i));
    return IfThenElse(Lt(i, Set(d, middle)), upwards, Sub(Set(d, end), Mul(Set(d, step), Sub(Set(d, last), i))));
  }
};

/// run.operator()<number of operands>(text) with the text of the call.
template <class T, class Run>
void WithSpaced(const SpacedArgs& args, const Run& run) {
  const T start = static_cast<T>(args.start), end = static_cast<T>(args.end), last = static_cast<T>(args.count - 1);
  run.template operator()<1>(SpacedText<T>{start, end, (end - start) / last, last, static_cast<T>(args.count / 2)});
}
