// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <mutex>
#include <vector>

#include "filters.h"
#include "functions.h"
#include "inputs.h"

namespace repdl::prove {

/// Every NaN is one result.
inline uint32_t CanonicalBits(float x) { return x != x ? 0x7fc00000 : std::bit_cast<uint32_t>(x); }

/// The correctly rounded results: the filter's where it decides, else MPFR's. Meanwhile the filter is checked against
/// MPFR, at `checks` inputs evenly apart and wherever it does not decide. As the ops are defined, functions of one number
/// round once to any dtype; those of two, and derivatives, round to float32 first.
class Expected {
 public:
  Expected(const reference::Function& function, DType dtype, int64_t num_inputs, int64_t checks);

  /// The results of inputs that begin at number `begin`, as bits of the float32 that they are.
  void Get(const Batch& batch, int64_t begin, std::vector<uint32_t>& bits);

  /// How often MPFR decided.
  int64_t asked() const { return asked_; }
  int64_t checked() const { return checked_; }
  /// How often the filter was out of its bound.
  int64_t bad() const { return bad_; }

  /// An input whose result lies close to the middle between two floats.
  struct HardCase {
    uint32_t input, result;
    double distance;  // to the middle, in units of the last place
  };
  /// The `count` hardest that were met, of functions of one number: no exact results, no subnormal ones.
  std::vector<HardCase> Hardest(size_t count);

 private:
  /// Checks the filter's `value`, and notes a hard case.
  void Check(uint32_t input, float x, float y, double value, float result, bool decided);

  const reference::Function& function_;
  const Filter& filter_;
  const reference::Format& format_;
  DType dtype_;
  int64_t check_every_;
  std::atomic<int64_t> asked_ = 0, checked_ = 0, bad_ = 0;
  std::mutex mutex_;  // of what follows
  std::vector<HardCase> hard_;
};

}  // namespace repdl::prove
