// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "drivers/row_functions_cuda.h"
#include "ops/mm/mm_kernel.h"
#include "ops/recurrent/recurrent_kernel.h"

namespace repdl::scalar {

#include "ops/recurrent/recurrent.lane.h"

/// A unit of a sample in each of several rows: one for each gate, say.
template <class T>
struct UnitNumbers {
  T* data;
  int64_t stride;

  REPDL_LANE std::remove_const_t<T> operator()(int row) const { return data[row * stride]; }
  REPDL_LANE void Put(int row, T value) const { data[row * stride] = value; }
};

}  // namespace repdl::scalar

namespace repdl::cuda {

using scalar::UnitNumbers;

/// What is multiplied: c = a b (+ bias), `a` of m rows.
template <class T>
static MmArgs Multiplied(Order order, int64_t m, int64_t n, int64_t k, const T* a, const T* b, T* c) {
  MmArgs args{};
  args.m = m, args.n = n, args.k = k, args.batch = 1;
  args.dtype = sizeof(T) == 8 ? DType::kFloat64 : DType::kFloat32;
  args.a = a, args.a_row_stride = k, args.a_col_stride = 1;
  args.b = b, args.b_row_stride = n, args.b_col_stride = 1;
  args.c = c, args.order = order;
  return args;
}

/// A step behind its product. All pointers are to numbers of the batch at its place.
template <class T>
struct StepArgs {
  int64_t batch, hidden;
  const T *sums, *gates, *h, *c;
  int64_t c_stride;
  T *output, *saved;
  T *h_n, *c_n;  // null but in the last step
};

/// A unit of a sample by each thread.
template <class Cell, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) StepKernel(const __grid_constant__ StepArgs<T> args) {
  const int64_t hidden = args.hidden, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.batch * hidden; at += num_threads) {
    int64_t b = at;
    const int64_t j = scalar::TakeRemainder(b, hidden), of_gates = b * Cell::kGates * hidden + j;
    T h = args.h[at], c = 0;
    if constexpr (Cell::kHasC) c = args.c[b * args.c_stride + j];
    Cell::Forward(UnitNumbers<const T>{args.sums + of_gates, hidden},
                  UnitNumbers<const T>{args.gates + of_gates, hidden},
                  UnitNumbers<T>{args.saved + b * Cell::kSaved * hidden + j, hidden}, h, c);
    args.output[at] = h;
    if (args.h_n != nullptr) args.h_n[at] = h;
    if constexpr (Cell::kHasC) {
      if (args.c_n != nullptr) args.c_n[at] = c;
    }
  }
}

/// The c that a step begins with, and from sample to sample.
template <class Cell, class Args, class Step>
static void SetCell(const RecurrentWalk<Args>& walk, int64_t step, Step& step_args) {
  const Args& args = walk.args;
  if constexpr (Cell::kHasC) {
    step_args.c = step == 0 ? args.cx : walk.At(args.saved, step - 1, Cell::kSaved * args.hidden) + 4 * args.hidden;
    step_args.c_stride = step == 0 ? args.hidden : Cell::kSaved * args.hidden;
  }
}

template <class Cell, class T>
static void Forward(const Place& place, const RecurrentArgs<T>& args) {
  const int64_t hidden = args.hidden, batch = args.batch, width = Cell::kGates * hidden;
  const RecurrentWalk<RecurrentArgs<T>> walk{args};
  OpScratch scratch(place);
  T* const sums = scratch.Get<T>(batch * width);
  for (int64_t step = 0; step < args.steps; ++step) {
    MmArgs product = Multiplied(args.order, batch, width, hidden, walk.Before(step), args.weight, sums);
    product.b_row_stride = 1, product.b_col_stride = hidden;
    product.bias = args.bias, product.bias_stride = 1;
    MmKernel(place, product);
    StepArgs<T> of_step{};
    of_step.batch = batch, of_step.hidden = hidden;
    of_step.sums = sums, of_step.gates = walk.At(args.gates, step, width);
    of_step.h = walk.Before(step);
    SetCell<Cell>(walk, step, of_step);
    of_step.output = walk.At(args.output, step, hidden);
    of_step.saved = walk.At(args.saved, step, Cell::kSaved * hidden);
    if (step == args.steps - 1) of_step.h_n = args.h_n, of_step.c_n = args.c_n;
    Launch(place, batch * hidden, &StepKernel<Cell, T>, of_step);
  }
}

/// A step backwards, before its product.
template <class T>
struct GradStepArgs {
  int64_t batch, hidden;
  const T *saved, *result, *h, *c;
  int64_t c_stride;
  const T* of_h[3];  // whose sum is the gradient of h; null where there is none
  const T* of_c;     // of c, or null
  T *grads, *grads_of_recurrent, *kept, *c_later;
};

template <class Cell, class T>
__global__ void __launch_bounds__(kThreadsPerBlock) GradStepKernel(const __grid_constant__ GradStepArgs<T> args) {
  const int64_t hidden = args.hidden, num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.batch * hidden; at += num_threads) {
    int64_t b = at;
    const int64_t j = scalar::TakeRemainder(b, hidden), of_gates = b * Cell::kGates * hidden + j;
    T dh = 0, dc = 0, kept = 0, c = 0;
    bool has_dh = false;
    for (const T* const term : args.of_h) {
      if (term == nullptr) continue;
      dh = has_dh ? scalar::Add(dh, term[at]) : term[at];
      has_dh = true;
    }
    const bool has_dc = args.of_c != nullptr;
    if constexpr (Cell::kHasC) {
      if (has_dc) dc = args.of_c[at];
      c = args.c[b * args.c_stride + j];
    }
    Cell::Backward(UnitNumbers<const T>{args.saved + b * Cell::kSaved * hidden + j, hidden}, args.result[at],
                   args.h[at], c, has_dh, dh, has_dc, dc, kept, UnitNumbers<T>{args.grads + of_gates, hidden},
                   UnitNumbers<T>{args.grads_of_recurrent + of_gates, hidden});
    if constexpr (Cell::kKeeps) args.kept[at] = kept;
    if constexpr (Cell::kHasC) args.c_later[at] = dc;
  }
}

/// to[i] = from[i] + from[count + i] + …, or, if it adds, what is there plus these.
template <class T>
struct AddPartsArgs {
  const T* from;
  int64_t count, parts;
  bool adds;
  T* to;
};

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock) AddPartsKernel(const __grid_constant__ AddPartsArgs<T> args) {
  const int64_t num_threads = int64_t{gridDim.x} * blockDim.x;
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < args.count; at += num_threads) {
    T sum = args.adds ? scalar::Add(args.to[at], args.from[at]) : args.from[at];
    for (int64_t part = 1; part < args.parts; ++part) sum = scalar::Add(sum, args.from[part * args.count + at]);
    args.to[at] = sum;
  }
}

/// Bytes of products that wait to be added, of several steps together.
static constexpr int64_t kMaxWaiting = int64_t{1} << 26;

/// The gradient of the weight, from those of the recurrent part of each gate.
template <class Cell, class T>
static void SumProducts(const Place& place, const RecurrentGradArgs<T>& args, const T* grads) {
  const int64_t hidden = args.hidden, batch = args.batch, width = Cell::kGates * hidden, count = width * hidden;
  const RecurrentWalk<RecurrentGradArgs<T>> walk{args};
  const int64_t most = std::max<int64_t>(1, kMaxWaiting / (count * static_cast<int64_t>(sizeof(T))));
  OpScratch scratch(place);
  T* const products = scratch.Get<T>(count * std::min(most, args.steps));
  // From a step to the one before.
  const int64_t earlier = args.reverse ? batch : -batch;
  for (int64_t step = args.steps - 1; step >= 0;) {
    // The first step alone reads hx.
    const int64_t steps = step == 0 ? 1 : std::min(most, step);
    MmArgs product =
        Multiplied(args.order, width, hidden, batch, walk.At(grads, step, width), walk.Before(step), products);
    product.a_row_stride = 1, product.a_col_stride = width;
    product.batch = steps;
    product.a_batch.Append(steps, earlier * width), product.b_batch.Append(steps, earlier * hidden);
    MmKernel(place, product);
    Launch(place, count, &AddPartsKernel<T>, {products, count, steps, step < args.steps - 1, args.grad_weight});
    step -= steps;
  }
}

/// Gradients of one gate of one unit: those of the last step, and from a step to the one before.
template <class T>
struct BiasArgs {
  const T* last;
  int64_t steps, earlier, width;
  T* bias;
};

/// The gradient of the bias of row `gate`; the samples of a step are its places.
struct SumOverSteps {
  template <class Row, class T>
  REPDL_ROW void operator()(const Row& row, int64_t gate, const BiasArgs<T>& args) const {
    T total = 0;
    for (int64_t i = 0; i < args.steps; ++i) {
      const T sum = row.Sum(scalar::RowNumbers<const T>{args.last + i * args.earlier + gate, args.width});
      total = i == 0 ? sum : scalar::Add(total, sum);
    }
    args.bias[gate] = total;
  }
};

template <class Cell, class T>
static void Backward(const Place& place, const RecurrentGradArgs<T>& args) {
  const int64_t hidden = args.hidden, batch = args.batch, width = Cell::kGates * hidden, states = batch * hidden;
  const RecurrentWalk<RecurrentGradArgs<T>> walk{args};
  OpScratch scratch(place);
  T* const kept = scratch.Get<T>(2 * states);
  T* const later = kept + states;
  T* const recurrent = Cell::kSplits ? scratch.Get<T>(args.steps * batch * width) : args.grad_gates;
  for (int64_t step = args.steps - 1; step >= 0; --step) {
    const bool last = step == args.steps - 1;
    GradStepArgs<T> of_step{};
    of_step.batch = batch, of_step.hidden = hidden;
    of_step.saved = walk.At(args.saved, step, Cell::kSaved * hidden);
    of_step.result = walk.At(args.output, step, hidden);
    of_step.h = walk.Before(step);
    SetCell<Cell>(walk, step, of_step);
    of_step.of_h[0] = args.grad_output == nullptr ? nullptr : walk.At(args.grad_output, step, hidden);
    of_step.of_h[1] = last ? args.grad_h_n : Cell::kKeeps ? kept : nullptr;
    of_step.of_h[2] = last ? nullptr : later;
    of_step.of_c = last ? args.grad_c_n : args.grad_cx;
    of_step.grads = walk.At(args.grad_gates, step, width);
    of_step.grads_of_recurrent = walk.At(recurrent, step, width);
    of_step.kept = kept, of_step.c_later = args.grad_cx;
    Launch(place, states, &GradStepKernel<Cell, T>, of_step);
    T* const to = step > 0 || Cell::kKeeps ? later : args.grad_hx;
    MmKernel(place, Multiplied<T>(args.order, batch, hidden, width, of_step.grads_of_recurrent, args.weight, to));
  }
  if (Cell::kKeeps) Launch(place, states, &AddPartsKernel<T>, {kept, states, 2, false, args.grad_hx});
  SumProducts<Cell>(place, args, recurrent);
  const BiasArgs<T> of_bias{walk.At(recurrent, args.steps - 1, width), args.steps,
                            (args.reverse ? batch : -batch) * width, width, args.grad_bias};
  ForThreadRows<T, SumOverSteps>(place, RowsArgs<BiasArgs<T>>{width, batch, args.order, of_bias});
}

template <class T>
static void Run(const Place& place, const RecurrentArgs<T>& args) {
  switch (args.cell) {
    case RecurrentCell::kLstm: return Forward<scalar::LstmCell>(place, args);
    case RecurrentCell::kGru: return Forward<scalar::GruCell>(place, args);
    case RecurrentCell::kRnnTanh: return Forward<scalar::RnnCell<false>>(place, args);
    case RecurrentCell::kRnnRelu: return Forward<scalar::RnnCell<true>>(place, args);
  }
}

template <class T>
static void Run(const Place& place, const RecurrentGradArgs<T>& args) {
  switch (args.cell) {
    case RecurrentCell::kLstm: return Backward<scalar::LstmCell>(place, args);
    case RecurrentCell::kGru: return Backward<scalar::GruCell>(place, args);
    case RecurrentCell::kRnnTanh: return Backward<scalar::RnnCell<false>>(place, args);
    case RecurrentCell::kRnnRelu: return Backward<scalar::RnnCell<true>>(place, args);
  }
}

REPDL_CUDA_KERNEL(RecurrentKernel, RecurrentArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(RecurrentKernel, RecurrentArgs<double>) { Run(place, args); }
REPDL_CUDA_KERNEL(RecurrentGradKernel, RecurrentGradArgs<float>) { Run(place, args); }
REPDL_CUDA_KERNEL(RecurrentGradKernel, RecurrentGradArgs<double>) { Run(place, args); }

}  // namespace repdl::cuda
