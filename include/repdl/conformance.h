// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "repdl/op.h"

namespace repdl {

/// Tensors that live as long as this does; zeros at first.
class TensorMemory {
 public:
  TensorView New(const TensorSpec& spec);
  /// The outputs of an op, as its `infer` tells them.
  std::vector<TensorView> New(const Specs& specs);

 private:
  std::deque<std::vector<std::byte>> memory_;
};

/// A call of an op, written down: the unit of the golden files.
///
///     conv2d(input=normal[2, 3, 8, 8]#1, weight=wide[4, 3, 3, 3]#2, stride=(2, 1), padding=1, order='sequential')
///
/// A tensor is a generator, a shape and a seed. Element i (row-major) is made from the 64 random bits
/// x = SplitMix64(seed * 2^32 + i), with integer arithmetic only, so that every machine makes the same:
///
///   uniform    multiples of 2^-23 in [-1, 1)
///   normal     sums of four 16-bit numbers, less their mean, in units of 2^-15: bell-shaped, about [-4, 4]
///   wide       random sign, fraction, and exponent from -40 to 39
///   tiny       as wide, exponent from -80 to -65: products fall below the subnormals
///   positive   multiples of 2^-23 in (0, 2]
///   unit       multiples of 2^-24 in [0, 1)
///   bits       any 32 bits: NaN, infinities and subnormals among them
///   sweep      the bit pattern i * 65537 + seed * 2654435761 (mod 2^32): patterns evenly apart
///   special    one of: NaN, +-inf, +-0, +-1, +-2^-149, +-2^-126, +-the largest number, 0.5, -1.5, 3
///   infinite   as normal, every eighth element +-inf
///   dominant   as normal, but |x| + n on the diagonals of matrices (…, m, n), or dominant_pairs (…, m, n, 2), not 16 bits
///   classesN   int64 in [0, N); offsetsN: int64 in [0, N] in rising order, the first 0
///   few        -1, 0, 0 or 1, of which matrices are singular, nilpotent, defective
///
/// `normal.bfloat16[100]#1` and `….float16` round the floats to nearest even; `bits` is then any 16 bits, and `sweep` the
/// pattern i (mod 2^16), so that `sweep.float16[65536]#0` is every number. `….float64` has random bits down to the last
/// place: uniform, positive and unit are multiples of 2^-52 and 2^-53, normal of 2^-50, the exponents of wide and tiny go
/// from -320 to 319 and from -640 to -513, and sweep is i * 0x1000100010001 + seed * 0x9e3779b97f4a7c15 (mod 2^64).
class Case {
 public:
  /// Parses the text and makes the tensors. Arguments that are left out take their defaults. Throws
  /// ValueError, quoting the place, for what it cannot read, and for tensors of more elements in all than these.
  explicit Case(std::string_view text, int64_t max_elements = int64_t{1} << 32);

  const OpInfo& op() const { return *op_; }
  std::span<const Value> args() const { return args_; }

  /// Runs the op. Returns its results: the tensors that it changed, in the order of the arguments, then its outputs.
  std::vector<TensorView> Run();
  /// The same with copies of the tensors on a CUDA device; the results come back. Throws CudaError if CUDA fails.
  std::vector<TensorView> RunOnCuda(int device);

 private:
  TensorView Generate(std::string_view generator, DType dtype, const IntList& shape, uint64_t seed);

  friend class CaseReader;
  const OpInfo* op_ = nullptr;
  std::vector<Value> args_;
  TensorMemory memory_;
  int64_t elements_left_;
  std::deque<std::string> strings_;
};

/// SHA-256, in hexadecimal, of several tensors one after the other, each as Digest (repdl/digest.h) reads it.
std::string Digest(const std::vector<TensorView>& tensors);

}  // namespace repdl
