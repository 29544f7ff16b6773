// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "conformance/elements.h"
#include "conformance/marks.h"
#include "repdl/golden.h"
#include "repdl/target.h"

namespace repdl {
namespace {

using Bits = std::vector<uint64_t>;

Bits BitsOf(const TensorView& tensor) {
  Bits all;
  all.reserve(static_cast<size_t>(tensor.numel()));
  VisitElements("compare", tensor, [&](auto bits) { all.push_back(bits); });
  return all;
}

/// "(2, 0)": where element i of a row-major tensor stands.
std::string IndexOf(const TensorView& tensor, int64_t i) {
  IntList index = tensor.shape;
  for (int dim = tensor.rank() - 1; dim >= 0; --dim) {
    index[dim] = i % tensor.shape[dim];
    i /= tensor.shape[dim];
  }
  return Name(index);
}

/// The number of a pattern.
double ValueOf(DType dtype, uint64_t bits) {
  if (dtype == DType::kFloat64) return std::bit_cast<double>(bits);
  if (dtype == DType::kFloat32) return std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (dtype == DType::kBFloat16) return std::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  const auto fraction = static_cast<double>(bits & 0x3ff);
  const int exponent = static_cast<int>(bits >> 10 & 0x1f);
  double value = exponent == 0 ? fraction * 0x1p-24 : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
  return (bits & 0x8000) != 0 ? -value : value;
}

bool IsWhole(DType dtype) { return dtype == DType::kInt64 || dtype == DType::kBool; }

/// "0x3f800000 (1)"
std::string ElementText(DType dtype, uint64_t bits) {
  if (IsWhole(dtype)) return std::to_string(static_cast<int64_t>(bits));
  std::array<char, 64> text;
  const int digits = 2 * ItemSize(dtype);
  std::snprintf(text.data(), text.size(), "0x%0*llx (%.9g)", digits, static_cast<unsigned long long>(bits),
                ValueOf(dtype, bits));
  return text.data();
}

/// The place of a pattern among all numbers of its type, so that neighbours are one apart; -0 comes just before +0.
int64_t Rank(DType dtype, uint64_t bits) {
  if (IsWhole(dtype)) return static_cast<int64_t>(bits);
  const uint64_t sign = uint64_t{1} << (8 * ItemSize(dtype) - 1);
  const auto size = static_cast<int64_t>(bits & (sign - 1));
  return (bits & sign) != 0 ? -size - 1 : size;
}

/// What two results have apart, summed up over all results.
struct Tally {
  int64_t elements = 0, different = 0, not_a_number = 0;
  uint64_t farthest = 0;
  std::string first;

  void Count(size_t output, const TensorView& expected, const TensorView& actual) {
    const DType dtype = expected.dtype;
    const Bits e = BitsOf(expected), a = BitsOf(actual);
    elements += expected.numel();
    for (size_t i = 0; i < e.size(); ++i) {
      if (e[i] == a[i]) continue;
      if (different++ == 0) {
        first = Message("output ", output, " at ", IndexOf(expected, static_cast<int64_t>(i)), ": expected ",
                        ElementText(dtype, e[i]), ", got ", ElementText(dtype, a[i]));
      }
      if (!IsWhole(dtype) && std::isnan(ValueOf(dtype, e[i])) != std::isnan(ValueOf(dtype, a[i]))) {
        ++not_a_number;
        continue;
      }
      const int64_t x = Rank(dtype, e[i]), y = Rank(dtype, a[i]);
      const uint64_t apart = x < y ? static_cast<uint64_t>(y) - static_cast<uint64_t>(x)
                                   : static_cast<uint64_t>(x) - static_cast<uint64_t>(y);
      farthest = std::max(farthest, apart);
    }
  }

  std::string Text() const {
    std::string text = Message(first, "; ", different, " of ", elements, " elements differ");
    if (different > not_a_number) text += Message(", by at most ", farthest, " ULP");
    if (not_a_number > 0) text += Message(not_a_number == different ? ", " : "; ", not_a_number, " in being NaN");
    return text;
  }
};

/// Element i of all results taken together.
struct At {
  size_t output = 0;
  int64_t element = 0;

  At(const std::vector<TensorView>& results, int64_t i) : element(i) {
    while (element >= results[output].numel()) element -= results[output++].numel();
  }
  std::string Text(const std::vector<TensorView>& results) const {
    return Message("output ", output, " at ", IndexOf(results[output], element));
  }
};

}  // namespace

std::string DescribeDifference(const std::vector<TensorView>& expected, const std::vector<TensorView>& actual) {
  if (expected.size() != actual.size()) {
    return Message("expected ", expected.size(), " results, got ", actual.size());
  }
  Tally tally;
  for (size_t t = 0; t < expected.size(); ++t) {
    const TensorView &e = expected[t], &a = actual[t];
    if (e.dtype != a.dtype || e.shape != a.shape) {
      return Message("output ", t, ": expected ", Name(e.dtype), Name(e.shape), ", got ", Name(a.dtype), Name(a.shape));
    }
    tally.Count(t, e, a);
  }
  return tally.different == 0 ? "" : tally.Text();
}

std::string DescribeMarks(std::string_view expected, const std::vector<TensorView>& actual) {
  const std::string marks = Marks(actual);
  if (marks == expected) {
    return "no mark differs: the golden line is damaged, or a checksum of 16 bits happens to be the same";
  }
  if (marks.size() != expected.size() || marks == kNoMarks) return "the number of elements differs";
  const auto differing =
      (std::mismatch(marks.begin(), marks.end(), expected.begin()).first - marks.begin()) / kMarkDigits;
  int64_t num_elements = 0;
  for (const TensorView& result : actual) num_elements += result.numel();
  const int64_t block = MarkedBlock(num_elements);
  const int64_t begin = differing * block, end = std::min(begin + block, num_elements);
  const At first(actual, begin), last(actual, end - 1);
  std::string text = "first difference: " + first.Text(actual);
  if (end - begin > 1) {
    text = Message("the first difference lies between ", first.Text(actual), " and ", last.Text(actual));
  }
  text += "; got ";
  constexpr int64_t kShown = 4;
  for (int64_t i = begin; i < std::min(end, begin + kShown); ++i) {
    const At at(actual, i);
    const TensorView& result = actual[at.output];
    text += Message(i == begin ? "" : ", ", ElementText(result.dtype, BitsOf(result)[static_cast<size_t>(at.element)]));
  }
  return text + (end - begin > kShown ? ", …" : "");
}

std::string Explain(const GoldenLine& line, std::string_view place) {
  Case failed(line.text);
  const std::vector<TensorView> actual = RunAt(place, failed);
  if (Digest(actual) == line.digest) return "run once more, it gives the golden digest: its results vary";
  std::vector<std::string_view> targets = SupportedTargets();
  std::reverse(targets.begin(), targets.end());  // the fast ones first
  for (std::string_view target : targets) {
    if (target == place) continue;
    Case other(line.text);
    const std::vector<TensorView> expected = RunAt(target, other);
    if (Digest(expected) != line.digest) continue;
    return Message(DescribeDifference(expected, actual), " (expected: as on ", target, ")");
  }
  return DescribeMarks(line.marks, actual);
}

}  // namespace repdl
