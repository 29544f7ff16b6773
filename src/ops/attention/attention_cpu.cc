// SPDX-License-Identifier: MIT
#include "ops/attention/attention_kernel.h"

#include "base/parallel.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/skinny_cpu-inl.h"
#include "drivers/softmax_cpu-inl.h"
#include "ops/mm/mm_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Scores that a thread holds at a time, so that they stay in the L2 cache, and how many rows or columns of them it
/// makes at least and at most.
constexpr int64_t kScores = int64_t{1} << 18;
constexpr int64_t kMinBlock = 56, kMaxBlock = 256;

/// c = a b over terms [first_k, k), those before being absent; c is row-major.
void Multiply(int64_t m, int64_t n, int64_t first_k, int64_t k, const Matrix& a, const Matrix& b, Order order,
              float* c) {
  if (m == 0 || n == 0) return;
  const int64_t chunk = ChainLength(order, k);
  if (n < kTileCols && m > n) {  // a narrow result leaves lanes idle: compute its transpose
    return TileProduct(n, 0, m, k, chunk, MatrixRows{b.Transposed()}, MatrixCols{a.Transposed(), m, false},
                       MatrixSink{c, 1, n, m, nullptr, nullptr}, first_k);
  }
  const int64_t done = first_k == 0 ? SkinnyProduct(m, n, k, chunk, a, b, c, n) : 0;
  if (done == n) return;
  TileProduct(m, done, n, k, chunk, MatrixRows{a}, MatrixCols{b, n, m <= kMaxRowsInPlace},
              MatrixSink{c, n, 1, n, nullptr, nullptr}, first_k);
}

/// The places k that are present.
struct Range {
  int64_t begin, end;
};

/// Whether a row would be another without terms of +0 times something, before or behind its own.
bool MayDiffer(const float* row, int64_t n, bool before, bool behind) {
  const FloatTag d;
  auto found = hn::FirstN(d, 0);
  // They change nothing unless they meet an infinity or a NaN, or, behind, a sum of -0.
  ForVectors(n, [&](int64_t j, int64_t count) HWY_ATTR {
    const Vec x = LoadN(row + j, count, 1.0f);
    if (before || behind) found = Or(found, IsNaN(x));
    if (behind) found = Or(found, Eq(x, Zero(d)));
  });
  return Any(d, found);
}

/// c = a b where the terms of row i of c are those in present(i), which is in `all`; a is +0 at the other places of
/// `all`.
template <class Present>
void MultiplyPresent(int64_t m, int64_t n, const Range& all, const Present& present, const Matrix& a, const Matrix& b,
                     Order order, float* c) {
  Multiply(m, n, all.begin, all.end, a, b, order, c);
  for (int64_t i = 0; i < m; ++i) {
    float* const row = c + i * n;
    const Range own = present(i);
    if (MayDiffer(row, n, own.begin > all.begin, own.end < all.end)) {
      Multiply(1, n, own.begin, own.end, {a.At(i, 0), a.row_stride, a.col_stride}, b, order, row);
    }
  }
}

/// row[j] = combine(row[j], mask(i, j0 + j)) for j < n; nothing without a mask.
template <class Combine>
void CombineRow(float* row, const Matrix& mask, int64_t i, int64_t j0, int64_t n, const Combine& combine) {
  if (mask.data == nullptr) return;
  constexpr int64_t kPiece = 512;
  HWY_ALIGN float buffer[kPiece];
  for (int64_t j = 0; j < n; j += kPiece) {
    const int64_t length = std::min(kPiece, n - j);
    const float* const y = SideBySide(mask.At(i, j0 + j), mask.col_stride, length, buffer);
    ForVectors(length, [&](int64_t q, int64_t count) HWY_ATTR {
      StoreN(combine(LoadN(row + j + q, count), LoadN(y + q, count)), row + j + q, count);
    });
  }
}

/// What a row of scores and its gradient come down to.
struct RowState {
  float largest, sum;
  float t;  // for the gradient
};

/// row[j] = exp(row[j] - largest)
void ExpFrom(float largest, float* row, int64_t n) {
  const Vec m = Set(FloatTag(), largest);
  ForVectors(n, [&](int64_t j, int64_t count) HWY_ATTR { StoreN(Exp(Sub(LoadN(row + j, count), m)), row + j, count); });
}

void DivideBy(float divisor, float* row, int64_t n) {
  const Vec d = Set(FloatTag(), divisor);
  ForVectors(n, [&](int64_t j, int64_t count) HWY_ATTR { StoreN(Div(LoadN(row + j, count), d), row + j, count); });
}

/// Probabilities in the place of scores.
RowState Softmax(float* row, int64_t n, Order order) {
  RowState state{MaxOfRow(row, n), 1.0f, 0.0f};
  const bool empty = state.largest == -kInfinity && std::all_of(row, row + n, [](float x) { return x == -kInfinity; });
  if (empty) state.largest = 0.0f;  // exp(-inf - 0) is the +0 that is wanted
  ExpFrom(state.largest, row, n);
  if (!empty) state.sum = SumRow(row, n, order);
  DivideBy(state.sum, row, n);
  return state;
}

/// Sum(x[j] * y[j])
float SumOfProducts(const float* x, const float* y, int64_t n, Order order) {
  HWY_ALIGN float terms[kSumChunk];
  return SumTerms(n, order, [&](int64_t begin, int64_t length) HWY_ATTR {
    ForVectors(length, [&](int64_t j, int64_t count) HWY_ATTR {
      StoreN(Mul(LoadN(x + begin + j, count), LoadN(y + begin + j, count)), terms + j, count);
    });
    return terms;
  });
}

/// One head of the batch. Scores of queries [i0, i1) with keys [j0, j1) lie row by row.
class Head {
 public:
  Head(const AttentionArgs& args, int64_t index) : args_(args) {
    const int64_t b = index / args.heads, h = index % args.heads, key_head = h / (args.heads / args.key_heads);
    query_ = At(args.query, b, h);
    key_ = At(args.key, b, key_head);
    value_ = At(args.value, b, key_head);
    attn_mask_ = At(args.attn_mask, b, h);
    dropout_mask_ = At(args.dropout_mask, b, h);
    grad_output_ = At(args.grad_output, b, h);
  }

  /// Queries [i0, i1) times the scale, row by row.
  void ScaleQueries(int64_t i0, int64_t i1, float* q) const {
    for (int64_t i = i0; i < i1; ++i) {
      for (int64_t e = 0; e < args_.width; ++e) *q++ = *query_.At(i, e) * args_.scale;
    }
  }
  /// The output of queries [i0, i1).
  void Attend(int64_t i0, int64_t i1, float* output) const {
    const int64_t n = KeysOf(i1 - 1), rows = i1 - i0;
    Scratch scratch;
    float* const q = scratch.Get<float>(rows * args_.width);
    float* const p = scratch.Get<float>(rows * args_.keys);  // of one size for all blocks, so that it can be kept
    ScaleQueries(i0, i1, q);
    Scores(q, i0, i1, 0, n, p);
    for (int64_t i = i0; i < i1; ++i) {
      float* const row = p + (i - i0) * n;
      Softmax(row, KeysOf(i), args_.order);
      Drop(i, 0, KeysOf(i), row);
      std::fill(row + KeysOf(i), row + n, 0.0f);
    }
    MultiplyPresent(
        rows, args_.value_width, {0, n}, [&](int64_t row) { return Range{0, KeysOf(i0 + row)}; }, {p, n, 1}, value_,
        args_.order, output);
  }
  /// The gradient by queries [i0, i1), of which q are the scaled ones. Leaves behind d and ds for the keys that any of
  /// them has.
  void GradQueries(const float* q, int64_t i0, int64_t i1, float* d, float* ds, RowState* states,
                   float* grad_query) const {
    const int64_t n = KeysOf(i1 - 1), rows = i1 - i0;
    Scores(q, i0, i1, 0, n, d);
    GradProbabilities(i0, i1, 0, n, ds);
    for (int64_t i = i0; i < i1; ++i) {
      float *const p = d + (i - i0) * n, *const a = ds + (i - i0) * n;
      const int64_t count = KeysOf(i);
      RowState& state = states[i - i0];
      state = Softmax(p, count, args_.order);
      Drop(i, 0, count, a);
      state.t = SumOfProducts(a, p, count, args_.order);
      FinishRow(i, 0, count, n, state.t, p, a);
    }
    MultiplyPresent(
        rows, args_.width, {0, n}, [&](int64_t row) { return Range{0, KeysOf(i0 + row)}; }, {ds, n, 1}, key_,
        args_.order, grad_query);
    for (int64_t i = 0; i < rows * args_.width; ++i) grad_query[i] = grad_query[i] * args_.scale;
  }
  /// d and ds once more, for keys [j0, j1) and the queries from FirstQuery(j0) on; q are all scaled queries.
  void Recompute(const float* q, int64_t j0, int64_t j1, const RowState* states, float* d, float* ds) const {
    const int64_t i0 = FirstQuery(j0), i1 = args_.queries, n = j1 - j0;
    Scores(q + i0 * args_.width, i0, i1, j0, j1, d + i0 * n);
    GradProbabilities(i0, i1, j0, j1, ds + i0 * n);
    for (int64_t i = i0; i < i1; ++i) {
      float *const p = d + i * n, *const a = ds + i * n;
      const int64_t count = CountOf(i, j0, j1);
      ExpFrom(states[i].largest, p, count);
      DivideBy(states[i].sum, p, count);
      Drop(i, j0, count, a);
      FinishRow(i, j0, count, n, states[i].t, p, a);
    }
  }
  /// The gradients by keys and values [j0, j1), of this head alone, from d and ds of the queries from FirstQuery(j0) on.
  void GradKeys(const float* q, int64_t j0, int64_t j1, const float* d, const float* ds, float* grad_key,
                float* grad_value) const {
    const int64_t n = j1 - j0;
    const Range all{FirstQuery(j0), args_.queries};
    const auto present = [&](int64_t row) { return Range{FirstQuery(j0 + row), args_.queries}; };
    MultiplyPresent(n, args_.width, all, present, {ds, 1, n}, {q, args_.width, 1}, args_.order, grad_key);
    MultiplyPresent(n, args_.value_width, all, present, {d, 1, n}, grad_output_, args_.order, grad_value);
  }

  int64_t KeysOf(int64_t i) const { return args_.is_causal ? std::min(args_.keys, i + 1) : args_.keys; }
  /// The first query that has key j.
  int64_t FirstQuery(int64_t j) const { return args_.is_causal ? j : 0; }

 private:
  static Matrix At(const HeadMatrices& x, int64_t b, int64_t h) {
    if (x.data == nullptr) return {};
    return {x.data + b * x.batch_stride + h * x.head_stride, x.row_stride, x.col_stride};
  }
  /// How many of keys [j0, j1) query i has.
  int64_t CountOf(int64_t i, int64_t j0, int64_t j1) const { return std::clamp<int64_t>(KeysOf(i) - j0, 0, j1 - j0); }
  void Scores(const float* q, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float* s) const {
    const Matrix keys{key_.At(j0, 0), key_.row_stride, key_.col_stride};
    Multiply(i1 - i0, j1 - j0, 0, args_.width, {q, args_.width, 1}, keys.Transposed(), args_.order, s);
    for (int64_t i = i0; i < i1; ++i, s += j1 - j0) {
      CombineRow(s, attn_mask_, i, j0, CountOf(i, j0, j1), [](Vec x, Vec mask) HWY_ATTR { return Add(x, mask); });
    }
  }
  /// The gradient by d.
  void GradProbabilities(int64_t i0, int64_t i1, int64_t j0, int64_t j1, float* a) const {
    const Matrix grads{grad_output_.At(i0, 0), grad_output_.row_stride, grad_output_.col_stride};
    const Matrix values{value_.At(j0, 0), value_.row_stride, value_.col_stride};
    Multiply(i1 - i0, j1 - j0, 0, args_.value_width, grads, values.Transposed(), args_.order, a);
  }
  /// Multiplies what belongs to query i and keys [j0, j0 + count) by the dropout mask.
  void Drop(int64_t i, int64_t j0, int64_t count, float* row) const {
    CombineRow(row, dropout_mask_, i, j0, count, [](Vec x, Vec mask) HWY_ATTR { return Mul(x, mask); });
  }
  /// d in the place of p, and ds in the place of a; +0 for keys that query i does not have.
  void FinishRow(int64_t i, int64_t j0, int64_t count, int64_t n, float t, float* p, float* a) const {
    const Vec sum = Set(FloatTag(), t);
    ForVectors(count, [&](int64_t j, int64_t some)
                          HWY_ATTR { StoreN(Mul(Sub(LoadN(a + j, some), sum), LoadN(p + j, some)), a + j, some); });
    Drop(i, j0, count, p);
    std::fill(p + count, p + n, 0.0f);
    std::fill(a + count, a + n, 0.0f);
  }

  const AttentionArgs& args_;
  Matrix query_, key_, value_, attn_mask_, dropout_mask_, grad_output_;
};

/// Calls task(i) for every i in [0, num_tasks), on several threads if the work, in multiplications, is worth a fork.
template <class Task>
void RunTasks(int64_t num_tasks, int64_t work, const Task& task) {
  constexpr int64_t kWorthAFork = 100000;
  if (work >= kWorthAFork) return ParallelFor(num_tasks, task);
  for (int64_t i = 0; i < num_tasks; ++i) task(i);
}

int64_t WorkOf(const AttentionArgs& args) {
  return args.batch * args.heads * args.queries * args.keys * (args.width + args.value_width);
}

/// How many rows of scores, `length` long, are made at a time, of `count` in each of `heads`.
int64_t BlockSize(int64_t heads, int64_t count, int64_t length) {
  const int64_t share = heads * count / (2 * GetNumThreads());
  return std::clamp(std::min(kScores / std::max<int64_t>(length, 1), share), kMinBlock, kMaxBlock);
}

/// out[i] = Sum over g of terms[g * size + i], for i < size.
void SumOverGroup(const float* terms, int64_t group, int64_t size, Order order, float* out) {
  for (int64_t i = 0; i < size; i += kMaxStrip) {
    const int64_t cols = std::min(kMaxStrip, size - i);
    const auto term_at = [&](int64_t g) HWY_ATTR { return terms + g * size + i; };
    if (order == Order::kSequential) {
      SumColumnsInSequence(group, cols, term_at, out + i);
    } else {
      SumColumnsInBlocks(group, cols, /*streamed=*/false, term_at, out + i);
    }
  }
}

/// The gradients by keys and values [j0, j1) of a key head: those of the heads that share it, which grads(head, index in
/// the group, grad_key, grad_value) makes, summed.
template <class Grads>
void SumKeyGrads(const AttentionArgs& args, int64_t key_head, int64_t j0, int64_t j1, const Grads& grads) {
  const int64_t group = args.heads / args.key_heads;
  const int64_t key_size = (j1 - j0) * args.width, value_size = (j1 - j0) * args.value_width;
  Scratch scratch;
  float* const grad_keys = scratch.Get<float>(group * key_size);
  float* const grad_values = scratch.Get<float>(group * value_size);
  for (int64_t g = 0; g < group; ++g) {
    grads(key_head * group + g, grad_keys + g * key_size, grad_values + g * value_size);
  }
  const int64_t row = key_head * args.keys + j0;
  SumOverGroup(grad_keys, group, key_size, args.order, args.grad_key + row * args.width);
  SumOverGroup(grad_values, group, value_size, args.order, args.grad_value + row * args.value_width);
}

/// All gradients, head by head, by the first `n` keys: the scores of one head fit the cache.
void GradOfSmallHeads(const AttentionArgs& args, int64_t n) {
  const int64_t queries = args.queries;
  RunTasks(args.batch * args.key_heads, WorkOf(args), [&](int64_t key_head) HWY_ATTR {
    Scratch scratch;
    float* const q = scratch.Get<float>(queries * args.width);
    float* const d = scratch.Get<float>(queries * n);
    float* const ds = scratch.Get<float>(queries * n);
    RowState* const states = scratch.Get<RowState>(queries);
    SumKeyGrads(args, key_head, 0, n, [&](int64_t index, float* grad_key, float* grad_value) HWY_ATTR {
      const Head head(args, index);
      head.ScaleQueries(0, queries, q);
      if (queries > 0) head.GradQueries(q, 0, queries, d, ds, states, args.grad_query + index * queries * args.width);
      head.GradKeys(q, 0, n, d, ds, grad_key, grad_value);
    });
  });
}

}  // namespace

void AttentionKernel(const AttentionArgs& args) {
  const int64_t size = BlockSize(args.batch * args.heads, args.queries, args.keys);
  const int64_t blocks = (args.queries + size - 1) / size;
  RunTasks(args.batch * args.heads * blocks, WorkOf(args), [&](int64_t task) HWY_ATTR {
    const int64_t head = task / blocks, i0 = task % blocks * size, i1 = std::min(args.queries, i0 + size);
    Head(args, head).Attend(i0, i1, args.output + (head * args.queries + i0) * args.value_width);
  });
}

void AttentionGradKernel(const AttentionArgs& args) {
  const int64_t key_heads = args.batch * args.key_heads, heads = args.batch * args.heads;
  const int64_t queries = args.queries, width = args.width;
  // Keys that no query has stand at the end.
  const int64_t keys = args.is_causal ? std::min(args.keys, queries) : args.keys;
  for (int64_t key_head = 0; keys < args.keys && key_head < key_heads; ++key_head) {
    const int64_t row = key_head * args.keys + keys;
    std::fill_n(args.grad_key + row * width, (args.keys - keys) * width, 0.0f);
    std::fill_n(args.grad_value + row * args.value_width, (args.keys - keys) * args.value_width, 0.0f);
  }
  if (queries * keys <= kScores && key_heads >= GetNumThreads()) return GradOfSmallHeads(args, keys);

  Scratch scratch;
  RowState* const states = scratch.Get<RowState>(heads * queries);
  const int64_t rows = BlockSize(heads, queries, 2 * keys), row_blocks = (queries + rows - 1) / rows;
  RunTasks(heads * row_blocks, WorkOf(args), [&](int64_t task) HWY_ATTR {
    const int64_t index = task / row_blocks, i0 = task % row_blocks * rows, i1 = std::min(queries, i0 + rows);
    const Head head(args, index);
    Scratch own;
    float* const q = own.Get<float>((i1 - i0) * width);
    float* const d = own.Get<float>((i1 - i0) * keys);
    float* const ds = own.Get<float>((i1 - i0) * keys);
    head.ScaleQueries(i0, i1, q);
    const int64_t row = index * queries + i0;
    head.GradQueries(q, i0, i1, d, ds, states + row, args.grad_query + row * width);
  });
  const int64_t cols = BlockSize(key_heads, keys, 2 * queries), col_blocks = (keys + cols - 1) / cols;
  RunTasks(key_heads * col_blocks, WorkOf(args), [&](int64_t task) HWY_ATTR {
    const int64_t j0 = task % col_blocks * cols, j1 = std::min(keys, j0 + cols);
    Scratch own;
    float* const q = own.Get<float>(queries * width);
    float* const d = own.Get<float>(queries * (j1 - j0));
    float* const ds = own.Get<float>(queries * (j1 - j0));
    SumKeyGrads(args, task / col_blocks, j0, j1, [&](int64_t index, float* grad_key, float* grad_value) HWY_ATTR {
      const Head head(args, index);
      head.ScaleQueries(0, queries, q);
      head.Recompute(q, j0, j1, states + index * queries, d, ds);
      head.GradKeys(q, j0, j1, d, ds, grad_key, grad_value);
    });
  });
}

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
