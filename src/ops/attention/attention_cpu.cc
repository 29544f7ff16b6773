// SPDX-License-Identifier: MIT
#include "ops/attention/attention_kernel.h"

#include "base/out_of_line.h"
#include "base/parallel.h"
#include "drivers/philox_cpu-inl.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/row_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/philox/philox.lane.h"
#include "ops/softmax/softmax.row.h"

namespace {

/// Scores that a thread holds at a time, so that they stay in the L2 cache, and how many rows of them it makes at least
/// and at most.
template <class T>
constexpr int64_t kScores = (int64_t{1} << 20) / sizeof(T);
constexpr int64_t kMinBlock = 56, kMaxBlock = 256;
/// Queries that one task of the gradient takes, and keys whose gradients grow together: a multiple of every kTileColsOf.
/// Causal queries also go so many at a time, for the scores of all have the width that the last one needs.
constexpr int64_t kPiece = 64;
static_assert(kPiece % kTileColsOf<float> == 0);

/// c = a b, which is m x n over k terms, or what `terms` add to it; c is row-major.
template <class T>
HWY_NOINLINE void Multiply(int64_t m, int64_t n, int64_t k, const MatrixOf<T>& a,
                           const std::type_identity_t<MatrixOf<T>>& b, Order order, T* c,
                           const std::type_identity_t<TermsOf<T>>& terms) {
  if (m == 0 || n == 0) return;
  const int64_t chunk = ChainLength(order, k);
  if (n < kTileColsOf<T> && m > n) {  // a narrow result leaves lanes idle: compute its transpose
    return TileProduct<T>(n, 0, m, {k, chunk}, MatrixRows{b.Transposed()}, MatrixCols{a.Transposed(), m, false},
                          MatrixSink{c, 1, n, m, nullptr, nullptr}, terms);
  }
  const bool whole = terms.first == 0 && terms.begin == 0 && terms.end == k;
  const int64_t done = whole ? SkinnyProduct(m, n, k, chunk, a, b, c, n) : 0;
  if (done == n) return;
  // What waits for other terms belongs to a block of columns.
  constexpr int64_t kCols = 8192 / sizeof(T);
  TermsOf<T> own = terms;
  for (int64_t j = done; j < n; j += kCols) {
    TileProduct<T>(m, j, std::min(n, j + kCols), {k, chunk}, MatrixRows{a}, MatrixCols{b, n, ReadInPlace(m, b)},
                   MatrixSink{c, n, 1, n, nullptr, nullptr}, own);
    if (own.waiting != nullptr) own.waiting += NumWaiting<T>(m, kCols, k, chunk);
  }
}

/// A right operand that is packed once for several products: `num_k` rows, in panels of columns.
template <class T>
struct PackedCols {
  const T* packed;
  int64_t num_k;

  static constexpr bool kByVector = false, kMayMask = false, kPacks = false;

  static int64_t Size(int64_t num_k, int64_t n) {
    return (n + kTileColsOf<T> - 1) / kTileColsOf<T> * kTileColsOf<T> * num_k;
  }
  /// Columns [j0, j1) of n, j0 at the beginning of a panel, and rows [k0, k1).
  static void Pack(const MatrixOf<T>& b, int64_t j0, int64_t j1, int64_t k0, int64_t k1, int64_t num_k, T* packed) {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>) {
      PackCols(b, j, static_cast<int>(std::min<int64_t>(kTileColsOf<T>, j1 - j)), k0, k1 - k0,
               packed + j * num_k + k0 * kTileColsOf<T>);
    }
  }
  void Get(int64_t j0, int64_t j1, int64_t k, int64_t, T*, int64_t, PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>) {
      *panels++ = {
          .b = packed + j * num_k + k * kTileColsOf<T>, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}
};

/// Whether a row might be another without terms of +0 times something behind its own.
template <class T>
bool MayDiffer(const T* row, int64_t n) {
  const TagOf<T> d;
  auto found = hn::FirstN(d, 0);
  // They change nothing unless they meet an infinity or a NaN, or a sum of -0.
  ForVectors<T>(n, [&](int64_t j, int64_t count) HWY_ATTR {
    const VecOf<T> x = LoadN(row + j, count, T{1});
    found = Or(found, Or(IsNaN(x), Eq(x, Zero(d))));
  });
  return Any(d, found);
}

/// From c = a b to the product where row i has its first count(i) of k terms alone; a is +0 at the other places.
template <class T, class Count>
void LeaveOutAbsent(int64_t m, int64_t n, int64_t k, const Count& count, const MatrixOf<T>& a, const MatrixOf<T>& b,
                    Order order, T* c) {
  for (int64_t i = 0; i < m; ++i) {
    const int64_t own = count(i);
    if (own == k || !MayDiffer(c + i * n, n)) continue;
    Multiply(1, n, own, {a.At(i, 0), a.row_stride, a.col_stride}, b, order, c + i * n, {0, own});
  }
}

/// row[j] = combine(row[j], mask(i, j)) for j < n; nothing without a mask.
template <class T, class Combine>
void CombineRow(T* row, const MatrixOf<T>& mask, int64_t i, int64_t n, const Combine& combine) {
  if (mask.data == nullptr) return;
  constexpr int64_t kPiece = 512;
  HWY_ALIGN T buffer[kPiece];
  for (int64_t j = 0; j < n; j += kPiece) {
    const int64_t length = std::min(kPiece, n - j);
    const T* const y = SideBySide(mask.At(i, j), mask.col_stride, length, buffer);
    ForVectors<T>(length, [&](int64_t q, int64_t count) HWY_ATTR {
      StoreN(combine(LoadN(row + j + q, count), LoadN(y + q, count)), row + j + q, count);
    });
  }
}

/// Rows [i0, i1) of x, `width` numbers each, side by side and times `factor`.
template <class T>
void CopyRows(const MatrixOf<T>& x, int64_t i0, int64_t i1, int64_t width, T factor, T* to) {
  const VecOf<T> f = Set(TagOf<T>(), factor);
  for (int64_t i = i0; i < i1; ++i, to += width) {
    const T* const row = SideBySide(x.At(i, 0), x.col_stride, width, to);
    ForVectors<T>(width, [&](int64_t e, int64_t n) HWY_ATTR { StoreN(Mul(LoadN(row + e, n), f), to + e, n); });
  }
}

/// Numbers that wait for the gradients of `keys` keys together, of width `width`.
template <class T>
int64_t NumWaitingOf(const AttentionArgs<T>& args, int64_t keys, int64_t width) {
  if (width == 0) return 0;
  const int64_t chunk = ChainLength(args.order, args.queries);
  const bool swapped = width < kTileColsOf<T> && keys > width;  // as in Multiply
  return swapped ? NumWaiting<T>(width, keys, args.queries, chunk) : NumWaiting<T>(keys, width, args.queries, chunk);
}

/// Keys and values of a head, packed for the scores, for the gradient by the probabilities and for that by the queries.
template <class T>
struct PackedHead {
  T *keys, *values, *key_rows;
};

/// The queries of a block: scaled, the gradients by their outputs, and d and ds, rows of as many keys as any of them has.
template <class T>
struct QueryBlock {
  T *q, *grads, *d, *ds;
};

/// An element of a dropout mask that is drawn.
struct DropoutElement {
  PhiloxBernoulliElement kept;
  float factor;

  HWY_INLINE Vec operator()(WordVec word) const { return Mul(kept(word), Set(FloatTag(), factor)); }
};

/// One head of the batch.
template <class T>
class Head {
 public:
  Head(const AttentionArgs<T>& args, int64_t index) : args_(args), index_(index) {
    const int64_t b = index / args.heads, h = index % args.heads, key_head = h / (args.heads / args.key_heads);
    query_ = At(args.query, b, h);
    key_ = At(args.key, b, key_head);
    value_ = At(args.value, b, key_head);
    attn_mask_ = At(args.attn_mask, b, h);
    dropout_mask_ = At(args.dropout_mask, b, h);
    grad_output_ = At(args.grad_output, b, h);
  }

  /// The output of queries [i0, i1).
  void Attend(int64_t i0, int64_t i1, T* output) const {
    const int64_t n = KeysOf(i1 - 1), rows = i1 - i0;
    Scratch scratch;
    T* const q = scratch.Get<T>(rows * args_.width);
    T* const p = scratch.Get<T>(rows * args_.keys);  // of one size for all blocks, so that it can be kept
    CopyRows(query_, i0, i1, args_.width, args_.scale, q);
    Multiply(rows, n, args_.width, {q, args_.width, 1}, key_.Transposed(), args_.order, p, {0, args_.width});
    AddMask(i0, i1, n, p);
    T* const dropout = scratch.Get<T>(DropoutSize());
    for (int64_t i = i0; i < i1; ++i) {
      T* const row = p + (i - i0) * n;
      SoftmaxRowOrZero(RowOf(i), RowNumbers<T>{row}, RowNumbers<T>{row});
      Drop(DropoutRow(i, KeysOf(i), dropout), KeysOf(i), row);
      std::fill(row + KeysOf(i), row + n, T{0});
    }
    const MatrixOf<T> left{p, n, 1};
    Multiply(rows, args_.value_width, n, left, value_, args_.order, output, {0, n});
    LeaveOutAbsent(
        rows, args_.value_width, n, [&](int64_t row) { return KeysOf(i0 + row); }, left, value_, args_.order, output);
  }

  /// Keys [j0, j1) of n, and their values; j0 is at the beginning of a panel.
  void Pack(int64_t j0, int64_t j1, int64_t n, const PackedHead<T>& packed) const {
    PackedCols<T>::Pack(key_.Transposed(), j0, j1, 0, args_.width, args_.width, packed.keys);
    PackedCols<T>::Pack(value_.Transposed(), j0, j1, 0, args_.value_width, args_.value_width, packed.values);
    PackedCols<T>::Pack(key_, 0, args_.width, j0, j1, n, packed.key_rows);
  }
  /// The gradient by queries [i0, i1), of which any has at most the first n of `keys` packed keys.
  void GradQueries(int64_t i0, int64_t i1, int64_t n, int64_t keys, const PackedHead<T>& packed,
                   const QueryBlock<T>& block, T* grad_query) const {
    const int64_t rows = i1 - i0, width = args_.width, value_width = args_.value_width;
    const auto multiply = [&](int64_t columns, int64_t k, const T* a, const PackedCols<T>& b, T* c) {
      TileProduct<T>(rows, 0, columns, {k, ChainLength(args_.order, k)}, MatrixRows{MatrixOf<T>{a, k, 1}}, b,
                     MatrixSink{c, columns, 1, columns, nullptr, nullptr}, {0, k});
    };
    CopyRows(query_, i0, i1, width, args_.scale, block.q);
    CopyRows(grad_output_, i0, i1, value_width, T{1}, block.grads);
    multiply(n, width, block.q, {packed.keys, width}, block.d);
    AddMask(i0, i1, n, block.d);
    multiply(n, value_width, block.grads, {packed.values, value_width}, block.ds);
    Scratch scratch;
    T* const buffer = scratch.Get<T>(DropoutSize());
    for (int64_t i = i0; i < i1; ++i) {
      T *const p = block.d + (i - i0) * n, *const a = block.ds + (i - i0) * n;
      const int64_t count = KeysOf(i);
      const RowNumbers<T> probabilities{p}, slopes{a};
      SoftmaxRowOrZero(RowOf(i), probabilities, probabilities);
      const T* const dropout = DropoutRow(i, count, buffer);
      Drop(dropout, count, a);
      SoftmaxGradRow(RowOf(i), slopes, probabilities, slopes);
      Drop(dropout, count, p);
      std::fill(p + count, p + n, T{0});
      std::fill(a + count, a + n, T{0});
    }
    multiply(width, n, block.ds, {packed.key_rows, keys}, grad_query);
    LeaveOutAbsent(
        rows, width, n, [&](int64_t row) { return KeysOf(i0 + row); }, {block.ds, n, 1}, key_, args_.order, grad_query);
    CopyRows({grad_query, width, 1}, 0, rows, width, args_.scale, grad_query);
  }
  /// What queries [i0, i1) add to the gradients by keys and values [j0, j1), which the last ones complete. Sums wait in
  /// `waiting`, NumWaitingOf numbers. `finite`: all of q and grads of this head are.
  void AddKeyGrads(int64_t i0, int64_t i1, int64_t j0, int64_t j1, int64_t n, const QueryBlock<T>& block, bool finite,
                   T* waiting, T* grad_key, T* grad_value) const {
    const auto add = [&](int64_t j, int64_t count, int64_t width, const T* left, const T* right, T* sums, T* out) {
      if (FirstQuery(j) >= i1 && i1 < args_.queries) return;
      Multiply(count, width, args_.queries, {left + j, 1, n}, {right, width, 1}, args_.order, out + (j - j0) * width,
               {i0, i1, FirstQuery(j), sums});
    };
    // The terms of queries that come before a key are +0 times something: nothing, or a NaN that must not be there.
    const int64_t step = finite ? j1 - j0 : 1;
    const int64_t wait_keys = waiting == nullptr ? 0 : NumWaitingOf(args_, step, args_.width);
    const int64_t wait_values = waiting == nullptr ? 0 : NumWaitingOf(args_, step, args_.value_width);
    for (int64_t j = j0; j < j1; j += step) {
      add(j, step, args_.width, block.ds, block.q, waiting, grad_key);
      if (waiting != nullptr) waiting += wait_keys;
      add(j, step, args_.value_width, block.d, block.grads, waiting, grad_value);
      if (waiting != nullptr) waiting += wait_values;
    }
  }
  /// Whether all scaled queries and gradients by outputs are finite.
  bool IsFinite() const {
    return IsFinite(query_, args_.width, args_.scale) && IsFinite(grad_output_, args_.value_width, T{1});
  }

  /// The keys that query i has.
  Row<T> RowOf(int64_t i) const { return {KeysOf(i), args_.order}; }
  int64_t KeysOf(int64_t i) const { return args_.is_causal ? std::min(args_.keys, i + 1) : args_.keys; }

 private:
  static MatrixOf<T> At(const HeadMatrices<T>& x, int64_t b, int64_t h) {
    if (x.data == nullptr) return {};
    return {x.data + b * x.batch_stride + h * x.head_stride, x.row_stride, x.col_stride};
  }
  /// The first query that has key j.
  int64_t FirstQuery(int64_t j) const { return args_.is_causal ? j : 0; }
  /// To the scores of queries [i0, i1) with the first n keys.
  void AddMask(int64_t i0, int64_t i1, int64_t n, T* s) const {
    for (int64_t i = i0; i < i1; ++i, s += n) {
      CombineRow(s, attn_mask_, i, KeysOf(i), [](VecOf<T> x, VecOf<T> mask) HWY_ATTR { return Add(x, mask); });
    }
  }
  /// Numbers that DropoutRow may need in a buffer.
  int64_t DropoutSize() const { return args_.keys + 3 + kPhiloxGroup; }
  /// The dropout mask of query i and its first `count` keys, side by side; null without one.
  const T* DropoutRow(int64_t i, int64_t count, T* buffer) const {
    if (dropout_mask_.data != nullptr) {
      return SideBySide(dropout_mask_.At(i, 0), dropout_mask_.col_stride, count, buffer);
    }
    if (!args_.dropout) return nullptr;
    const DrawnDropout<T>& drawn = *args_.dropout;
    const uint64_t word = drawn.stream.offset + static_cast<uint64_t>((index_ * args_.queries + i) * args_.keys);
    const auto skipped = static_cast<int64_t>(word % 4);
    const auto draw = [&](float factor, float* to) HWY_ATTR {
      const EachWord<DropoutElement> element{{{drawn.kept}, factor}};
      RunPhilox<EachWord<DropoutElement>>(&element, drawn.stream, word / 4,
                                          (skipped + count + kPhiloxGroup - 1) / kPhiloxGroup, to);
    };
    if constexpr (std::is_same_v<T, float>) {
      draw(drawn.factor, buffer);
      return buffer + skipped;
    } else {
      Scratch scratch;
      float* const ones = scratch.Get<float>(DropoutSize());
      draw(1.0f, ones);
      for (int64_t j = 0; j < count; ++j) buffer[j] = static_cast<T>(ones[skipped + j]) * drawn.factor;
      return buffer;
    }
  }
  /// Multiplies a row by the dropout mask, if there is one.
  static void Drop(const T* mask, int64_t count, T* row) {
    if (mask == nullptr) return;
    ForVectors<T>(count, [&](int64_t j, int64_t some)
                             HWY_ATTR { StoreN(Mul(LoadN(row + j, some), LoadN(mask + j, some)), row + j, some); });
  }
  bool IsFinite(const MatrixOf<T>& x, int64_t width, T factor) const {
    Scratch scratch;
    T* const row = scratch.Get<T>(width);
    const TagOf<T> d;
    auto finite = hn::FirstN(d, static_cast<size_t>(kLanesOf<T>));
    for (int64_t i = 0; i < args_.queries; ++i) {
      CopyRows(x, i, i + 1, width, factor, row);
      ForVectors<T>(width, [&](int64_t e, int64_t n) HWY_ATTR {
        const VecOf<T> y = LoadN(row + e, n);
        finite = And(finite, Eq(Sub(y, y), Zero(d)));
      });
    }
    return AllTrue(d, finite);
  }

  const AttentionArgs<T>& args_;
  const int64_t index_;
  MatrixOf<T> query_, key_, value_, attn_mask_, dropout_mask_, grad_output_;
};

/// Calls task(i) for every i in [0, num_tasks), on several threads if the work, in multiplications, is worth a fork.
template <class Task>
void RunTasks(int64_t num_tasks, int64_t work, const Task& task) {
  constexpr int64_t kWorthAFork = Grain(100000);
  if (work >= kWorthAFork) return ParallelFor(num_tasks, task);
  for (int64_t i = 0; i < num_tasks; ++i) OutOfLine(task, i);
}

template <class T>
int64_t WorkOf(const AttentionArgs<T>& args) {
  return args.batch * args.heads * args.queries * args.keys * (args.width + args.value_width);
}

/// How many rows of scores, `length` long, are made at a time, of `count` in each of `heads`.
template <class T>
int64_t BlockSize(int64_t heads, int64_t count, int64_t length) {
  const int64_t share = heads * count / (2 * GetNumThreads());
  return std::clamp(std::min(kScores<T> / std::max<int64_t>(length, 1), share), kMinBlock, kMaxBlock);
}

/// out[i] = Sum over g of terms[g * size + i], for i < size.
template <class T>
void SumOverGroup(const T* terms, int64_t group, int64_t size, Order order, T* out) {
  if (group == 1) {  // +0 plus the term
    const VecOf<T> zero = Zero(TagOf<T>());
    return ForVectors<T>(size,
                         [&](int64_t i, int64_t n) HWY_ATTR { StoreN(Add(LoadN(terms + i, n), zero), out + i, n); });
  }
  for (int64_t i = 0; i < size; i += kMaxStrip) {
    const int64_t cols = std::min(kMaxStrip, size - i);
    const auto row_at = [&](int64_t g) HWY_ATTR { return StoredRow<T>{terms + g * size + i}; };
    if (order == Order::kSequential) {
      SumColumnsInSequence(group, cols, row_at, out + i);
    } else {
      SumColumnsInBlocks(group, cols, /*streamed=*/false, row_at, out + i);
    }
  }
}

/// All gradients of key heads [first, first + count), by the first `keys` keys, `rows` queries at a time: their scores
/// are made once. `work` is that of all, or 0 to stay on the thread.
template <class T>
void GradOfKeyHeads(const AttentionArgs<T>& args, int64_t first, int64_t count, int64_t keys, int64_t rows,
                    int64_t work) {
  const int64_t queries = args.queries, width = args.width, value_width = args.value_width;
  const int64_t group = args.heads / args.key_heads, num_pieces = (keys + kPiece - 1) / kPiece;
  Scratch scratch;
  const auto floats = [&](int64_t n) { return scratch.Get<T>(count * n); };
  const int64_t keys_size = PackedCols<T>::Size(width, keys), values_size = PackedCols<T>::Size(value_width, keys);
  const int64_t key_rows_size = PackedCols<T>::Size(keys, width);
  T *const packed_keys = floats(keys_size), *const packed_values = floats(values_size);
  T* const packed_key_rows = floats(key_rows_size);
  T *const q = floats(rows * width), *const grads = floats(rows * value_width);
  T *const d = floats(rows * keys), *const ds = floats(rows * keys);
  bool* const finite = scratch.Get<bool>(count);
  // One by one they need the most.
  const int64_t wait = kPiece * (NumWaitingOf(args, 1, width) + NumWaitingOf(args, 1, value_width)) +
                       NumWaitingOf(args, kPiece, width) + NumWaitingOf(args, kPiece, value_width);
  T* const waiting = queries > rows ? floats(num_pieces * wait) : nullptr;
  T* const key_terms = group > 1 ? floats(group * keys * width) : nullptr;
  T* const value_terms = group > 1 ? floats(group * keys * value_width) : nullptr;

  const auto packed_of = [&](int64_t h) {
    return PackedHead<T>{packed_keys + h * keys_size, packed_values + h * values_size,
                         packed_key_rows + h * key_rows_size};
  };
  const auto key_grads = [&](int64_t h) { return args.grad_key + (first + h) * args.keys * width; };
  const auto value_grads = [&](int64_t h) { return args.grad_value + (first + h) * args.keys * value_width; };
  const auto piece = [&](int64_t i, int64_t end) { return std::min(i * kPiece, end); };

  RunTasks(count * num_pieces, work, [&](int64_t task) HWY_ATTR {
    const int64_t h = task / num_pieces, i = task % num_pieces;
    Head(args, (first + h) * group).Pack(piece(i, keys), piece(i + 1, keys), keys, packed_of(h));
  });
  for (int64_t g = 0; g < group; ++g) {
    const auto head_of = [&](int64_t h) { return Head(args, (first + h) * group + g); };
    RunTasks(args.is_causal ? count : 0, work, [&](int64_t h) HWY_ATTR { finite[h] = head_of(h).IsFinite(); });
    int64_t i0 = 0;
    do {
      const int64_t i1 = std::min(queries, i0 + rows);
      const int64_t n = args.is_causal ? std::min(keys, i1) : keys;
      const int64_t row_pieces = (i1 - i0 + kPiece - 1) / kPiece, key_pieces = (n + kPiece - 1) / kPiece;
      const auto block_at = [&](int64_t h, int64_t row) {
        return QueryBlock<T>{q + (h * rows + row) * width, grads + (h * rows + row) * value_width,
                             d + h * rows * keys + row * n, ds + h * rows * keys + row * n};
      };
      RunTasks(count * row_pieces, work, [&](int64_t task) HWY_ATTR {
        const int64_t h = task / row_pieces, i = task % row_pieces;
        const int64_t row = piece(i, i1 - i0), end = piece(i + 1, i1 - i0);
        head_of(h).GradQueries(i0 + row, i0 + end, n, keys, packed_of(h), block_at(h, row),
                               args.grad_query + (((first + h) * group + g) * queries + i0 + row) * width);
      });
      RunTasks(count * key_pieces, work, [&](int64_t task) HWY_ATTR {
        const int64_t h = task / key_pieces, i = task % key_pieces, j0 = piece(i, n), j1 = piece(i + 1, n);
        T* const grad_key = group > 1 ? key_terms + (h * group + g) * keys * width : key_grads(h);
        T* const grad_value = group > 1 ? value_terms + (h * group + g) * keys * value_width : value_grads(h);
        head_of(h).AddKeyGrads(i0, i1, j0, j1, n, block_at(h, 0), !args.is_causal || finite[h],
                               waiting == nullptr ? nullptr : waiting + (h * num_pieces + i) * wait,
                               grad_key + j0 * width, grad_value + j0 * value_width);
      });
      i0 = i1;
    } while (i0 < queries);
  }
  RunTasks(count, work, [&](int64_t h) HWY_ATTR {
    const T* const of_keys = group > 1 ? key_terms + h * group * keys * width : key_grads(h);
    const T* const of_values = group > 1 ? value_terms + h * group * keys * value_width : value_grads(h);
    SumOverGroup(of_keys, group, keys * width, args.order, key_grads(h));
    SumOverGroup(of_values, group, keys * value_width, args.order, value_grads(h));
  });
}

template <class T>
void Attend(const AttentionArgs<T>& args) {
  const int64_t size = args.is_causal ? kPiece : BlockSize<T>(args.batch * args.heads, args.queries, args.keys);
  const int64_t blocks = (args.queries + size - 1) / size;
  RunTasks(args.batch * args.heads * blocks, WorkOf(args), [&](int64_t task) HWY_ATTR {
    const int64_t head = task / blocks, i0 = task % blocks * size, i1 = std::min(args.queries, i0 + size);
    Head<T>(args, head).Attend(i0, i1, args.output + (head * args.queries + i0) * args.value_width);
  });
}

template <class T>
void FillGrads(const AttentionArgs<T>& args) {
  const int64_t key_heads = args.batch * args.key_heads, width = args.width;
  // Keys that no query has stand at the end.
  const int64_t keys = args.is_causal ? std::min(args.keys, args.queries) : args.keys;
  for (int64_t key_head = 0; keys < args.keys && key_head < key_heads; ++key_head) {
    const int64_t row = key_head * args.keys + keys;
    std::fill_n(args.grad_key + row * width, (args.keys - keys) * width, T{0});
    std::fill_n(args.grad_value + row * args.value_width, (args.keys - keys) * args.value_width, T{0});
  }
  // As many heads as there are threads go each its way; the threads share the others.
  const int64_t threads = GetNumThreads(), alone = key_heads / threads * threads, shared = key_heads - alone;
  const int64_t rows = (args.is_causal ? 1 : 2) * kPiece;
  RunTasks(alone, WorkOf(args), [&](int64_t key_head) HWY_ATTR {
    GradOfKeyHeads(args, key_head, 1, keys, std::min(rows, args.queries), 0);
  });
  if (shared == 0) return;
  const int64_t more = std::max(rows, (2 * threads + shared - 1) / shared * kPiece);
  GradOfKeyHeads(args, alone, shared, keys, std::min(more, args.queries), WorkOf(args));
}

}  // namespace

void AttentionKernel(const AttentionArgs<float>& args) { Attend(args); }
void AttentionKernel(const AttentionArgs<double>& args) { Attend(args); }
void AttentionGradKernel(const AttentionArgs<float>& args) { FillGrads(args); }
void AttentionGradKernel(const AttentionArgs<double>& args) { FillGrads(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
