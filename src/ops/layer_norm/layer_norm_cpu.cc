// SPDX-License-Identifier: MIT
#include "drivers/reduce_cpu-inl.h"
#include "ops/layer_norm/layer_norm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

/// float32(1 / N): the quotient in double, rounded once.
float Reciprocal(const LayerNormArgs& args) { return static_cast<float>(1.0 / static_cast<double>(args.n)); }

void NormalizeRow(const LayerNormArgs& args, int64_t row) {
  const FloatTag d;
  const int64_t n = args.n;
  const float* const x = args.input + row * n;
  const float* const weight = args.weight + row % args.affine_rows * n;
  const float* const bias = args.bias + row % args.affine_rows * n;
  float* const y = args.output + row * n;
  const float r = Reciprocal(args);
  const float mean_of_row = args.mean == nullptr ? 0.0f : SumRow(x, n, args.order) * r;
  const Vec mean = Set(d, mean_of_row);
  const float var = SumOf(n, args.order,
                          [&](int64_t i, int64_t count) HWY_ATTR {
                            const Vec centred = Sub(LoadN(x + i, count), mean);
                            return Mul(centred, centred);
                          }) *
                    r;
  const Vec rstd = Div(Set(d, 1.0f), Sqrt(Set(d, var + args.eps)));
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const Vec h = Mul(Sub(LoadN(x + i, count), mean), rstd);
    StoreN(Add(Mul(h, LoadN(weight + i, count)), LoadN(bias + i, count)), y + i, count);
  });
  if (args.mean != nullptr) args.mean[row] = mean_of_row;
  args.rstd[row] = hn::GetLane(rstd);
}

/// A row of the gradient.
struct GradRow {
  const float *g, *x, *weight;
  float mean, rstd;

  GradRow(const LayerNormArgs& args, int64_t row)
      : g(args.grad_output + row * args.n),
        x(args.input + row * args.n),
        weight(args.weight + row % args.affine_rows * args.n),
        mean(args.mean == nullptr ? 0.0f : args.mean[row]),
        rstd(args.rstd[row]) {}

  HWY_INLINE Vec H(int64_t i, int64_t count) const {
    return Mul(Sub(LoadN(x + i, count), Set(FloatTag(), mean)), Set(FloatTag(), rstd));
  }
  HWY_INLINE Vec U(int64_t i, int64_t count) const { return Mul(LoadN(g + i, count), LoadN(weight + i, count)); }
  /// The terms of grad_weight.
  HWY_INLINE Vec operator()(int64_t i, int64_t count) const { return Mul(LoadN(g + i, count), H(i, count)); }
};

void FillGradInput(const LayerNormArgs& args, int64_t index) {
  const FloatTag d;
  const GradRow row(args, index);
  const int64_t n = args.n;
  float* const grad_input = args.grad_input + index * n;
  const float r = Reciprocal(args);
  const auto u = [&](int64_t i, int64_t count) HWY_ATTR { return row.U(i, count); };
  const auto uh = [&](int64_t i, int64_t count) HWY_ATTR {
    // Rows to come: between the sums of one row, memory would idle.
    constexpr int64_t kAhead = 1024;
    __builtin_prefetch(row.g + i + kAhead);
    __builtin_prefetch(row.x + i + kAhead);
    return Mul(row.U(i, count), row.H(i, count));
  };
  const float b = SumOf(n, args.order, uh);  // first, for it reads all that a reads
  const float a = args.mean == nullptr ? 0.0f : SumOf(n, args.order, u);
  const Vec bias_share = Set(d, a * r), weight_share = Set(d, b * r), rstd = Set(d, row.rstd);
  ForVectors(n, [&](int64_t i, int64_t count) HWY_ATTR {
    const Vec difference = Sub(row.U(i, count), bias_share);
    StoreN(Mul(rstd, Sub(difference, Mul(row.H(i, count), weight_share))), grad_input + i, count);
  });
}

void FillGradInputs(const LayerNormArgs& args) {
  ParallelRanges(args.rows, 4096 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) FillGradInput(args, row);
  });
}

/// sums[i] += term i of grad_weight, for columns begin + i < end; of grad_bias likewise, unless bias_sums is null.
void AddRow(const GradRow& row, int64_t begin, int64_t end, float* weight_sums, float* bias_sums) {
  ForVectors(end - begin, [&](int64_t i, int64_t count) HWY_ATTR {
    StoreN(Add(LoadN(weight_sums + i, count), row(begin + i, count)), weight_sums + i, count);
    if (bias_sums == nullptr) return;
    StoreN(Add(LoadN(bias_sums + i, count), LoadN(row.g + begin + i, count)), bias_sums + i, count);
  });
}

float* OrNull(float* p, int64_t offset) { return p == nullptr ? nullptr : p + offset; }

/// Calls body(begin, end) for strips of the columns, on the threads.
template <class Body>
void ForStrips(const LayerNormArgs& args, int64_t num_terms, const Body& body) {
  constexpr int64_t kStrip = 64;
  const int64_t strips = (args.n + kStrip - 1) / kStrip;
  ParallelRanges(strips, 16384 / (num_terms * kStrip) + 1, [&](int64_t first, int64_t last) HWY_ATTR {
    const int64_t end = std::min(last * kStrip, args.n);
    for (int64_t j = first * kStrip; j < end; j += kMaxStrip) body(j, std::min(j + kMaxStrip, end));
  });
}

/// For rows that are few: the columns are summed as they lie.
void SumFewRows(const LayerNormArgs& args) {
  ForStrips(args, args.rows, [&](int64_t begin, int64_t end) HWY_ATTR {
    const auto term_at = [&](int64_t i) HWY_ATTR {
      return [row = GradRow(args, i), begin](int64_t j, int64_t count) HWY_ATTR { return row(begin + j, count); };
    };
    SumColumnsOf(args.rows, end - begin, term_at, args.grad_weight + begin);
    if (args.grad_bias == nullptr) return;
    const auto grad_at = [&](int64_t i) HWY_ATTR { return StoredRow{args.grad_output + i * args.n + begin}; };
    SumColumnsOf(args.rows, end - begin, grad_at, args.grad_bias + begin);
  });
}

/// For many rows: each is read from memory once. Its terms are added to the lanes of its chunk, which are folded then.
void GradOfManyRows(const LayerNormArgs& args) {
  const int64_t n = args.n, whole_chunks = args.rows / kSumChunk;
  const int64_t num_lanes = whole_chunks * kSumLanes + std::min(args.rows % kSumChunk, kSumLanes);
  Scratch scratch;
  float* const weight_sums = scratch.Get<float>(num_lanes * n);
  float* const bias_sums = args.grad_bias == nullptr ? nullptr : scratch.Get<float>(num_lanes * n);
  // Neighbouring lanes are done together, as many as stay in the L2 cache: their rows are neighbours.
  const int64_t group = std::clamp(65536 / n, int64_t{1}, kSumLanes);
  ParallelRanges(num_lanes, 1024 / n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t first = begin, next; first < end; first = next) {
      const int64_t chunk = first / kSumLanes, end_of_chunk = std::min(args.rows, (chunk + 1) * kSumChunk);
      next = std::min({end, first + group, (chunk + 1) * kSumLanes});
      std::fill(weight_sums + first * n, weight_sums + next * n, 0.0f);
      if (bias_sums != nullptr) std::fill(bias_sums + first * n, bias_sums + next * n, 0.0f);
      const int64_t shift = chunk * (kSumChunk - kSumLanes);  // from a lane to its first row
      for (int64_t of_first = first + shift; of_first < end_of_chunk; of_first += kSumLanes) {
        const int64_t last = std::min(of_first + next - first, end_of_chunk);
        for (int64_t row = of_first, at = first * n; row < last; ++row, at += n) {
          FillGradInput(args, row);
          AddRow(GradRow(args, row), 0, n, weight_sums + at, OrNull(bias_sums, at));
        }
      }
    }
  });
  ForStrips(args, num_lanes, [&](int64_t begin, int64_t end) HWY_ATTR {
    const auto fold = [&](const float* sums, float* out) HWY_ATTR {
      const auto lane_at = [&](int64_t lane) HWY_ATTR { return StoredRow{sums + lane * n + begin}; };
      SumColumnsOf(num_lanes, end - begin, lane_at, out + begin, kSumLanes);
    };
    fold(weight_sums, args.grad_weight);
    if (bias_sums != nullptr) fold(bias_sums, args.grad_bias);
  });
}

void SumInSequence(const LayerNormArgs& args) {
  ForStrips(args, args.rows, [&](int64_t begin, int64_t end) HWY_ATTR {
    float* const weight = args.grad_weight + begin;
    float* const bias = OrNull(args.grad_bias, begin);
    std::fill_n(weight, end - begin, 0.0f);
    if (bias != nullptr) std::fill_n(bias, end - begin, 0.0f);
    for (int64_t row = 0; row < args.rows; ++row) AddRow(GradRow(args, row), begin, end, weight, bias);
  });
}

}  // namespace

void LayerNormKernel(const LayerNormArgs& args) {
  ParallelRanges(args.rows, 8192 / args.n + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t row = begin; row < end; ++row) NormalizeRow(args, row);
  });
}

void LayerNormGradKernel(const LayerNormArgs& args) {
  if (args.grad_weight == nullptr) return FillGradInputs(args);
  if (args.order == Order::kBlocked && args.rows >= 4 * kSumLanes) return GradOfManyRows(args);
  FillGradInputs(args);
  if (args.order == Order::kBlocked) {
    SumFewRows(args);
  } else {
    SumInSequence(args);
  }
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
