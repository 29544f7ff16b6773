// SPDX-License-Identifier: MIT

/// How a term meets the sum of those before it.
struct AddStep {
  template <class V>
  REPDL_LANE V operator()(V sum, V x) const {
    return Add(sum, x);
  }
};
