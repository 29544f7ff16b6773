// SPDX-License-Identifier: MIT
#include <cmath>

#include "functions.h"
#include "op.h"
#include "philox.h"

namespace repdl::reference {
namespace {

constexpr float kSmallest = 0x1p-126f;

float GammaNumber(const PhiloxStream& stream, uint64_t element, float alpha) {
  if (!(alpha > 0.0f)) return NAN;
  const uint64_t first = 4 * element;
  const float raised = alpha < 1.0f ? alpha + 1.0f : alpha;
  const float d = raised - static_cast<float>(1.0 / 3.0);
  float result = d;
  for (uint64_t attempt = 0; attempt < 16; ++attempt) {
    const uint64_t word = first + (attempt << 60);
    const float log = Log(stream.OpenUnit(word));
    const float radius = std::sqrt(-2.0f * log);
    const float x = radius * Rounded(*FindFunction("cospi"), 2.0f * stream.Unit(word + 1));
    const float nine = d * 9.0f;
    const float quotient = x / std::sqrt(nine);
    const float root = 1.0f + quotient;
    const float square = root * root;
    const float v = square * root;
    if (!(v > 0.0f)) continue;
    // One operation a line: nothing may be contracted.
    float bound = x * x;
    bound = bound * 0.5f;
    bound = bound + d;
    const float product = d * v;
    bound = bound - product;
    const float part = d * Log(v < kSmallest ? kSmallest : v);
    bound = bound + part;
    if (Log(stream.OpenUnit(word + 2)) < bound) {
      result = product;
      break;
    }
  }
  if (alpha < 1.0f) result *= Rounded(*FindFunction("pow"), stream.OpenUnit(first + 3), 1.0f / alpha);
  return result < kSmallest ? kSmallest : result;
}

}  // namespace

template <class T>
static Results RunPhiloxGamma(const Case& test_case) {
  const Arguments args(test_case);
  const PhiloxStream stream(args);
  Numbers<T> values = args.NumbersOf<T>("alpha");
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = GammaNumber(stream, stream.Number(i), static_cast<float>(values[i]));
  }
  Results results;
  Append(results, std::move(values), args.Shape("alpha"), args.Type("alpha"));
  return results;
}

static const Op kOp = {"philox_gamma", REPDL_EITHER(RunPhiloxGamma)};

}  // namespace repdl::reference
