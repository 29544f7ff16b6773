// SPDX-License-Identifier: MIT
#include "base/parallel.h"
#include "drivers/reduce_cpu-inl.h"
#include "drivers/row_functions_cpu-inl.h"
#include "ops/mm/mm_kernel.h"
#include "ops/mm/mm_parts-inl.h"
#include "ops/recurrent/recurrent_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {

#include "ops/recurrent/recurrent.lane.h"

namespace {

/// Hidden units whose gates are computed together: a panel of each.
template <class T>
inline constexpr int64_t kUnits = kTileColsOf<T>;

template <class T>
int64_t BlocksOf(int64_t hidden) {
  return (hidden + kUnits<T> - 1) / kUnits<T>;
}

/// The right operand of a product, packed once for all steps: panel after panel, of num_k rows each.
template <class T>
struct PackedCols {
  const T* data;
  int64_t num_k;

  static constexpr bool kByVector = false, kMayMask = false;
  static constexpr bool kPacks = false;

  void Get(int64_t j0, int64_t j1, int64_t k, int64_t, T*, int64_t, PanelOf<T>* panels) const {
    for (int64_t j = j0; j < j1; j += kTileColsOf<T>, ++panels) {
      *panels = {.b = data + j * num_k + k * kTileColsOf<T>, .stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
    }
  }
  void Prefetch(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t) const {}
};

/// panel[k * kTileCols + j] = b(k, j0 + j) of a row-major b, zero for columns from `cols` on.
template <class T>
void PackPanel(const MatrixOf<T>& b, int64_t j0, int64_t cols, int64_t num_k, T* panel) {
  for (int64_t k = 0; k < num_k; ++k, panel += kTileColsOf<T>) {
    const T* const from = b.At(k, j0);
    for (int64_t v = 0; v < kTileColsOf<T>; v += kLanesOf<T>) {
      VecOf<T> part = Zero(TagOf<T>());
      if (v < cols) part = LoadN(from + v, cols - v);
      Store(part, TagOf<T>(), panel + v);
    }
  }
}

/// Some units of a sample in each of several rows: one for each gate, say.
template <class T>
struct UnitRows {
  T* data;
  int64_t stride;
  int64_t count;

  HWY_INLINE VecOf<std::remove_const_t<T>> operator()(int row) const { return LoadN(data + row * stride, count); }
  HWY_INLINE void Put(int row, VecOf<std::remove_const_t<T>> v) const { StoreN<T>(v, data + row * stride, count); }
};

/// Multiplications for which a fork pays.
inline constexpr int64_t kWorthAFork = Grain(100000);
/// Samples that a thread takes at least, if each has samples of its own.
inline constexpr int64_t kFewestSamples = 4;

/// Calls step(n, b0, b1, u0, u1) for n in [0, steps), in this order, for samples [b0, b1) and blocks of units [u0, u1)
/// that cover all. Samples do not depend on each other, but units do on all units of the step before. `work` is the
/// number of multiplications of a step.
template <class Step>
void ForSteps(int64_t steps, int64_t batch, int64_t blocks, int64_t work, const Step& step) {
  const int64_t threads = std::min<int64_t>(GetNumThreads(), work * steps / kWorthAFork + 1);
  const int64_t parts = std::min({threads, blocks, work / kWorthAFork + 1});
  if (threads == 1 || batch >= kFewestSamples * threads || parts == 1) {
    const int64_t shares = std::max<int64_t>(1, std::min(threads, batch / kFewestSamples));
    ParallelFor(shares, [&](int64_t share) {
      for (int64_t n = 0; n < steps; ++n) step(n, batch * share / shares, batch * (share + 1) / shares, 0, blocks);
    });
    return;
  }
  for (int64_t n = 0; n < steps; ++n) {
    ParallelFor(parts, [&](int64_t part) { step(n, 0, batch, blocks * part / parts, blocks * (part + 1) / parts); });
  }
}

/// Calls body(b, j, count) for the vectors of units of each sample.
template <class T, class Body>
HWY_INLINE void ForUnits(int64_t b0, int64_t b1, int64_t u0, int64_t u1, int64_t hidden, const Body& body) {
  const int64_t end = std::min(u1 * kUnits<T>, hidden);
  for (int64_t b = b0; b < b1; ++b) {
    for (int64_t j = u0 * kUnits<T>; j < end; j += kLanesOf<T>) body(b, j, std::min(kLanesOf<T>, end - j));
  }
}

/// c = a b + bias for `a` of m rows and the b that a sequence of one step reads where it lies.
template <class T>
void Multiply(Order order, int64_t m, int64_t n, int64_t k, const T* a, const T* b, int64_t b_row_stride,
              int64_t b_col_stride, const T* bias, T* c) {
  MmArgs args{};
  args.m = m, args.n = n, args.k = k, args.batch = 1;
  args.dtype = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;
  args.a = a, args.a_row_stride = k, args.a_col_stride = 1;
  args.b = b, args.b_row_stride = b_row_stride, args.b_col_stride = b_col_stride;
  args.c = c, args.bias = bias, args.bias_stride = 1, args.order = order;
  HWY_NAMESPACE::MmKernel(args);
}

template <class Cell, class T>
void Forward(const RecurrentArgs<T>& args) {
  constexpr int64_t kGates = Cell::kGates;
  const int64_t hidden = args.hidden, batch = args.batch, blocks = BlocksOf<T>(hidden);
  const int64_t width = blocks * kGates * kUnits<T>;
  const RecurrentWalk<RecurrentArgs<T>> walk{args};
  Scratch scratch;
  T* const sums = scratch.Get<T>(batch * width);
  const bool once = args.steps == 1;
  if (once) Multiply(args.order, batch, kGates * hidden, hidden, args.hx, args.weight, 1, hidden, args.bias, sums);
  // The columns of a block of units lie side by side, those of each gate in a panel.
  T* const packed = scratch.Get<T>(once ? 0 : width * hidden);
  T* const bias = once || args.bias == nullptr ? nullptr : scratch.Get<T>(width);
  ParallelRanges(once ? 0 : blocks * kGates, kWorthAFork / 10 / (hidden * kUnits<T>)+1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   for (int64_t panel = begin; panel < end; ++panel) {
                     const int64_t j = panel / kGates * kUnits<T>, row = panel % kGates * hidden;
                     const int64_t cols = std::min(kUnits<T>, hidden - j);
                     PackCols<T>({args.weight + row * hidden, 1, hidden}, j, static_cast<int>(cols), 0, hidden,
                                 packed + panel * kUnits<T> * hidden);
                     if (bias == nullptr) continue;
                     std::copy_n(args.bias + row + j, cols, bias + panel * kUnits<T>);
                     std::fill_n(bias + panel * kUnits<T> + cols, kUnits<T> - cols, T{0});
                   }
                 });
  const Chunks chunks(hidden, ChainLength(args.order, hidden));
  ForSteps(args.steps, batch, blocks, batch * kGates * hidden * hidden,
           [&](int64_t step, int64_t b0, int64_t b1, int64_t u0, int64_t u1) HWY_ATTR {
             const T* const h_before = walk.Before(step);
             if (!once) {
               TileProduct<T>(b1 - b0, u0 * kGates * kUnits<T>, u1 * kGates * kUnits<T>, chunks,
                              MatrixRows<T>{{h_before + b0 * hidden, hidden, 1}}, PackedCols<T>{packed, hidden},
                              MatrixSink<T>{sums + b0 * width, width, 1, width, nullptr, bias}, {0, hidden});
             }
             const T* const gates = walk.At(args.gates, step, kGates * hidden);
             const T* const c_before =
                 step == 0 ? args.cx : walk.At(args.saved, step - 1, Cell::kSaved * hidden) + 4 * hidden;
             const int64_t c_stride = step == 0 ? hidden : Cell::kSaved * hidden;
             T* const saved = walk.At(args.saved, step, Cell::kSaved * hidden);
             T* const output = walk.At(args.output, step, hidden);
             const bool last = step == args.steps - 1;
             ForUnits<T>(b0, b1, u0, u1, hidden, [&](int64_t b, int64_t j, int64_t count) HWY_ATTR {
               const int64_t in_block = j % kUnits<T>, block = j - in_block;
               const T* const parts =
                   once ? sums + b * kGates * hidden + j : sums + b * width + block * kGates + in_block;
               VecOf<T> h = LoadN(h_before + b * hidden + j, count), c = Zero(TagOf<T>());
               if constexpr (Cell::kHasC) c = LoadN(c_before + b * c_stride + j, count);
               Cell::Forward(UnitRows<const T>{parts, once ? hidden : kUnits<T>, count},
                             UnitRows<const T>{gates + b * kGates * hidden + j, hidden, count},
                             UnitRows<T>{saved + b * Cell::kSaved * hidden + j, hidden, count}, h, c);
               StoreN<T>(h, output + b * hidden + j, count);
               if (!last) return;
               StoreN<T>(h, args.h_n + b * hidden + j, count);
               if constexpr (Cell::kHasC) StoreN<T>(c, args.c_n + b * hidden + j, count);
             });
           });
}

/// Visits the chunks of the samples of a step, for a tile of the weight's gradient, to which the product is added.
template <class T>
class StepVisitor {
 public:
  /// Of packed rows and a packed panel; `total` and each level of `waiting` have room for a tile.
  StepVisitor(int rows, T* total, T* waiting)
      : rows_(rows), total_(total), waiting_(waiting), tile_(ChooseTile<T, false, false, false>(rows, false)) {}

  void Begin(const T* a, const T* b, bool adds) { a_ = a, b_ = b, adds_ = adds; }
  void Chain(int64_t begin, int64_t end) {
    panel_.b = b_ + begin * kTileColsOf<T>;
    run_ = {.k = end - begin,
            .a = a_ + begin * rows_,
            .panel = &panel_,
            .resume = nullptr,
            .merges = merges_,
            .num_merges = 0,
            .row_bias = nullptr,
            .col_bias = nullptr,
            .out = nullptr,
            .out_stride = kTileColsOf<T>};
  }
  void TakeIn(int level) { merges_[run_.num_merges++] = At(level); }
  void Park(int level) { RunTo(At(level)); }
  void End() {
    if (adds_) merges_[run_.num_merges++] = total_;
    RunTo(total_);
  }

 private:
  T* At(int level) const { return waiting_ + level * kTileRows * kTileColsOf<T>; }
  void RunTo(T* out) {
    run_.out = out;
    tile_(run_);
  }

  int rows_;
  T *total_, *waiting_;
  TileFn<T> tile_;
  const T *a_ = nullptr, *b_ = nullptr;
  bool adds_ = false;
  PanelOf<T> panel_{.stride = kTileColsOf<T>, .prefetch = 8 * kTileColsOf<T>};
  TileRunOf<T> run_{};
  const T* merges_[kMaxLevels + 1];
};

/// Samples up to which the sums of a few rows stay in registers for all steps.
inline constexpr int64_t kFewSamples = 4;
inline constexpr int kRowsInRegisters = kTileRows >= 12 ? 6 : 2;

/// The same for few samples: total[i * kTileCols + j] of all steps, where sample k has a[k * stride + i].
template <class T>
void SumFewProducts(int64_t steps, int64_t batch, const T* a, int64_t stride, const T* b, T* total) {
  const TagOf<T> d;
  VecElementOf<T> sums[kRowsInRegisters][kTileVecs];
#pragma GCC unroll 16
  for (int i = 0; i < kRowsInRegisters; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) sums[i][v] = Zero(d);
  }
  for (int64_t step = steps - 1; step >= 0; --step) {
    VecElementOf<T> acc[kRowsInRegisters][kTileVecs];
#pragma GCC unroll 16
    for (int i = 0; i < kRowsInRegisters; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) acc[i][v] = Zero(d);
    }
    for (int64_t k = step * batch; k < (step + 1) * batch; ++k) {
#pragma GCC unroll 16
      for (int i = 0; i < kRowsInRegisters; ++i) {
        const VecOf<T> factor = Set(d, a[k * stride + i]);
#pragma GCC unroll 2
        for (int v = 0; v < kTileVecs; ++v) {
          acc[i][v] = Fma<VecOf<T>>(factor, Load(d, b + k * kTileColsOf<T> + v * kLanesOf<T>), acc[i][v]);
        }
      }
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRowsInRegisters; ++i) {
#pragma GCC unroll 2
      for (int v = 0; v < kTileVecs; ++v) {
        if (step == steps - 1) {
          sums[i][v] = acc[i][v];
        } else {
          const VecOf<T> before = sums[i][v], term = acc[i][v];
          sums[i][v] = Add(before, term);
        }
      }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRowsInRegisters; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kTileVecs; ++v) Store(sums[i][v], d, total + i * kTileColsOf<T> + v * kLanesOf<T>);
  }
}

/// The gradient of the weight, from those of the recurrent part of each of `gates` gates.
template <class T>
void SumProducts(const RecurrentGradArgs<T>& args, int64_t gates, const T* grads) {
  constexpr int64_t kCols = kTileColsOf<T>;
  const int64_t hidden = args.hidden, batch = args.batch, num_rows = gates * hidden, panels = BlocksOf<T>(hidden);
  const RecurrentWalk<RecurrentGradArgs<T>> walk{args};
  const Chunks chunks(batch, ChainLength(args.order, batch));
  const int64_t terms = args.steps * batch;
  Scratch scratch;
  T* const right = scratch.Get<T>(panels * terms * kCols);
  ParallelRanges(panels * args.steps, 8192 / (batch * kCols) + 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t j = i / args.steps * kCols, step = i % args.steps;
      PackPanel<T>({walk.Before(step), hidden, 1}, j, std::min(kCols, hidden - j), batch,
                   right + j * terms + step * batch * kCols);
    }
  });
  const RowTiles tiles{num_rows};
  // Tiles that are packed together: numbers of a sample lie side by side.
  constexpr int64_t kTogether = 8;
  // Samples that are asked for before they are packed, as each lies in a page of its own.
  constexpr int64_t kAhead = 12;
  const int64_t grain = kWorthAFork / (kTogether * kTileRows * hidden * terms) + 1;
  ParallelRanges((tiles.count + kTogether - 1) / kTogether, grain, [&](int64_t begin, int64_t end) HWY_ATTR {
    Scratch own;
    T* const left = own.Get<T>(kTogether * terms * kTileRows + kTileRows);
    T* const total = own.Get<T>((NumLevels(chunks.count) + 2) * kTileRows * kCols);
    for (int64_t first = begin * kTogether; first < std::min(end * kTogether, tiles.count); first += kTogether) {
      const int64_t last = std::min(first + kTogether, tiles.count);
      for (int64_t k = 0; k < terms; ++k) {
        const T* from = walk.At(grads, k / batch, num_rows) + k % batch * num_rows + tiles.Begin(first);
        for (int64_t t = first; t < last; from += tiles.Rows(t), ++t) {
          T* const to = left + (t - first) * terms * kTileRows + k * tiles.Rows(t);
          __builtin_prefetch(from + kAhead * num_rows);
          ForVectors<T>(tiles.Rows(t),
                        [&](int64_t i, int64_t count) HWY_ATTR { StoreN<T>(LoadN(from + i, count), to + i, count); });
        }
      }
      for (int64_t t = first; t < last; ++t) {
        const int64_t row = tiles.Begin(t);
        const int rows = tiles.Rows(t);
        const T* const packed = left + (t - first) * terms * kTileRows;
        for (int64_t j = 0; j < hidden; j += kCols) {
          const T* const panel = right + j * terms;
          if (batch <= kFewSamples) {
            for (int i = 0; i < rows; i += kRowsInRegisters) {
              SumFewProducts<T>(args.steps, batch, packed + i, rows, panel, total + i * kCols);
            }
          } else {
            StepVisitor<T> visitor(rows, total, total + kTileRows * kCols);
            for (int64_t step = args.steps - 1; step >= 0; --step) {
              visitor.Begin(packed + step * batch * rows, panel + step * batch * kCols, step < args.steps - 1);
              WalkChunks(chunks, visitor);
            }
          }
          for (int64_t i = 0; i < rows; ++i) {
            std::copy_n(total + i * kCols, std::min(kCols, hidden - j), args.grad_weight + (row + i) * hidden + j);
          }
        }
      }
    }
  });
}

/// The gradient of the bias.
template <class T>
void SumOverSteps(const RecurrentGradArgs<T>& args, int64_t gates, const T* grads) {
  constexpr int64_t kStrip = 256;
  const int64_t batch = args.batch, num_rows = gates * args.hidden;
  const RecurrentWalk<RecurrentGradArgs<T>> walk{args};
  ParallelRanges((num_rows + kStrip - 1) / kStrip, 16384 / (kStrip * batch * args.steps) + 1,
                 [&](int64_t begin, int64_t end) HWY_ATTR {
                   HWY_ALIGN T terms[kStrip + kLanesOf<T>];
                   for (int64_t row = begin * kStrip; row < std::min(end * kStrip, num_rows); row += kStrip) {
                     const int64_t rows = std::min(kStrip, num_rows - row);
                     T* const bias = args.grad_bias + row;
                     for (int64_t step = args.steps - 1; step >= 0; --step) {
                       const bool adds = step < args.steps - 1;
                       const T* const of_step = walk.At(grads, step, num_rows) + row;
                       const auto row_at = [&](int64_t b) HWY_ATTR { return StoredRow<T>{of_step + b * num_rows}; };
                       T* const sums = adds ? terms : bias;
                       if (args.order == Order::kSequential) {
                         SumColumnsInSequence(batch, rows, row_at, sums);
                       } else {
                         SumColumnsInBlocks(batch, rows, /*streamed=*/false, row_at, sums);
                       }
                       if (!adds) continue;
                       ForVectors<T>(rows, [&](int64_t q, int64_t count) HWY_ATTR {
                         StoreN<T>(Add(LoadN(bias + q, count), LoadN(terms + q, count)), bias + q, count);
                       });
                     }
                   }
                 });
}

template <class Cell, class T>
void Backward(const RecurrentGradArgs<T>& args) {
  constexpr int64_t kGates = Cell::kGates;
  const int64_t hidden = args.hidden, batch = args.batch, blocks = BlocksOf<T>(hidden), depth = kGates * hidden;
  const bool once = args.steps == 1;
  const int64_t width = once ? hidden : blocks * kUnits<T>;
  const RecurrentWalk<RecurrentGradArgs<T>> walk{args};
  Scratch scratch;
  T* const packed = scratch.Get<T>(once ? 0 : width * depth);
  T* const later = scratch.Get<T>(batch * width);
  T* const kept = scratch.Get<T>(Cell::kKeeps ? batch * width : 0);
  T* const recurrent = Cell::kSplits ? scratch.Get<T>(args.steps * batch * depth) : args.grad_gates;
  ParallelRanges(once ? 0 : blocks, kWorthAFork / 10 / (depth * kUnits<T>)+1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t j = block * kUnits<T>;
      PackPanel<T>({args.weight, hidden, 1}, j, std::min(kUnits<T>, hidden - j), depth, packed + j * depth);
    }
  });
  const auto finish = [&](int64_t b0, int64_t b1, int64_t u0, int64_t u1) HWY_ATTR {
    ForUnits<T>(b0, b1, u0, u1, hidden, [&](int64_t b, int64_t j, int64_t count) HWY_ATTR {
      VecOf<T> dh = LoadN(later + b * width + j, count);
      if constexpr (Cell::kKeeps) dh = Add(LoadN(kept + b * width + j, count), dh);
      StoreN<T>(dh, args.grad_hx + b * hidden + j, count);
    });
  };
  const Chunks chunks(depth, ChainLength(args.order, depth));
  // One step more, which takes the product of step 0.
  ForSteps(once ? 1 : args.steps + 1, batch, blocks, batch * depth * hidden,
           [&](int64_t n, int64_t b0, int64_t b1, int64_t u0, int64_t u1) HWY_ATTR {
             const int64_t step = args.steps - 1 - n;
             if (n > 0) {
               TileProduct<T>(b1 - b0, u0 * kUnits<T>, u1 * kUnits<T>, chunks,
                              MatrixRows<T>{{walk.At(recurrent, step + 1, depth) + b0 * depth, depth, 1}},
                              PackedCols<T>{packed, depth},
                              MatrixSink<T>{later + b0 * width, width, 1, width, nullptr, nullptr}, {0, depth});
             }
             if (step < 0) return finish(b0, b1, u0, u1);
             const T* const h_before = walk.Before(step);
             const T* const c_before =
                 step == 0 ? args.cx : walk.At(args.saved, step - 1, Cell::kSaved * hidden) + 4 * hidden;
             const int64_t c_stride = step == 0 ? hidden : Cell::kSaved * hidden;
             const T* const saved = walk.At(args.saved, step, Cell::kSaved * hidden);
             const T* const result = walk.At(args.output, step, hidden);
             const T* const grad_output =
                 args.grad_output == nullptr ? nullptr : walk.At(args.grad_output, step, hidden);
             T* const grads = walk.At(args.grad_gates, step, depth);
             T* const grads_of_recurrent = walk.At(recurrent, step, depth);
             ForUnits<T>(b0, b1, u0, u1, hidden, [&](int64_t b, int64_t j, int64_t count) HWY_ATTR {
               const TagOf<T> d;
               const int64_t at = b * hidden + j;
               VecOf<T> dh = Zero(d), dc = Zero(d), keep = Zero(d), c = Zero(d);
               bool has_dh = false;
               const auto add = [&](const VecOf<T>& term) HWY_ATTR {
                 if (has_dh) {
                   dh = Add(dh, term);
                 } else {
                   dh = term;
                 }
                 has_dh = true;
               };
               if (grad_output != nullptr) add(LoadN(grad_output + at, count));
               if (n == 0) {
                 if (args.grad_h_n != nullptr) add(LoadN(args.grad_h_n + at, count));
               } else {
                 if constexpr (Cell::kKeeps) add(LoadN(kept + b * width + j, count));
                 add(LoadN(later + b * width + j, count));
               }
               bool has_dc = false;
               if constexpr (Cell::kHasC) {
                 const T* const of_c = n == 0 ? args.grad_c_n : args.grad_cx;
                 has_dc = of_c != nullptr;
                 if (has_dc) dc = LoadN(of_c + at, count);
                 c = LoadN(c_before + b * c_stride + j, count);
               }
               Cell::Backward(UnitRows<const T>{saved + b * Cell::kSaved * hidden + j, hidden, count},
                              LoadN(result + at, count), LoadN(h_before + at, count), c, has_dh, dh, has_dc, dc, keep,
                              UnitRows<T>{grads + b * depth + j, hidden, count},
                              UnitRows<T>{grads_of_recurrent + b * depth + j, hidden, count});
               if constexpr (Cell::kKeeps) StoreN<T>(keep, kept + b * width + j, count);
               if constexpr (Cell::kHasC) StoreN<T>(dc, args.grad_cx + at, count);
             });
           });
  if (once) {
    Multiply<T>(args.order, batch, hidden, depth, recurrent, args.weight, hidden, 1, nullptr, later);
    finish(0, batch, 0, blocks);
  }
  SumProducts(args, kGates, recurrent);
  SumOverSteps(args, kGates, recurrent);
}

template <class T>
void Run(const RecurrentArgs<T>& args) {
  switch (args.cell) {
    case RecurrentCell::kLstm: return Forward<LstmCell>(args);
    case RecurrentCell::kGru: return Forward<GruCell>(args);
    case RecurrentCell::kRnnTanh: return Forward<RnnCell<false>>(args);
    case RecurrentCell::kRnnRelu: return Forward<RnnCell<true>>(args);
  }
}

template <class T>
void RunGrad(const RecurrentGradArgs<T>& args) {
  switch (args.cell) {
    case RecurrentCell::kLstm: return Backward<LstmCell>(args);
    case RecurrentCell::kGru: return Backward<GruCell>(args);
    case RecurrentCell::kRnnTanh: return Backward<RnnCell<false>>(args);
    case RecurrentCell::kRnnRelu: return Backward<RnnCell<true>>(args);
  }
}

}  // namespace

void RecurrentKernel(const RecurrentArgs<float>& args) { Run(args); }
void RecurrentKernel(const RecurrentArgs<double>& args) { Run(args); }
void RecurrentGradKernel(const RecurrentGradArgs<float>& args) { RunGrad(args); }
void RecurrentGradKernel(const RecurrentGradArgs<double>& args) { RunGrad(args); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
