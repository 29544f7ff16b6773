// SPDX-License-Identifier: MIT
#include "repdl/ops/recurrent.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/mm/mm_kernel.h"
#include "ops/recurrent/recurrent_kernel.h"

namespace repdl {
namespace {

using Optional = std::optional<TensorView>;
using Cell = RecurrentCell;

Cell RnnCellOf(std::string_view op, std::string_view nonlinearity) {
  REPDL_CHECK(nonlinearity == "tanh" || nonlinearity == "relu", ArgName{op, "nonlinearity"},
              " must be 'tanh' or 'relu', got '", nonlinearity, "'");
  return nonlinearity == "relu" ? Cell::kRnnRelu : Cell::kRnnTanh;
}

/// Steps, samples and hidden units.
struct Sizes {
  int64_t t, b, h;
};

/// Checks states and weight, which say what H is.
void CheckCell(std::string_view op, Cell cell, const Sizes& sizes, const TensorView& hx, const TensorView* cx,
               const TensorView& weight, const TensorView& like) {
  REPDL_CHECK(sizes.t > 0, "[", op, "] a sequence must have at least one step");
  CheckFloat({op, "hx"}, hx, like);
  CheckShape({op, "hx"}, hx, {sizes.b, sizes.h});
  if (cx != nullptr) {
    CheckFloat({op, "cx"}, *cx, like);
    CheckShape({op, "cx"}, *cx, {sizes.b, sizes.h});
  }
  CheckFloat({op, "weight"}, weight, like);
  CheckShape({op, "weight"}, weight, {GatesOf(cell) * sizes.h, sizes.h});
}

Specs Infer(std::string_view op, Cell cell, const TensorView& gates, const TensorView& hx, const TensorView* cx,
            const TensorView& weight, const Optional& bias) {
  CheckFloat({op, "gates"}, gates, gates);
  CheckRank({op, "gates"}, gates, 3, 3, "(t, b, gates)");
  CheckFloat({op, "weight"}, weight, gates);
  CheckRank({op, "weight"}, weight, 2, 2, "(gates, h)");
  const Sizes sizes{gates.shape[0], gates.shape[1], weight.shape[1]};
  CheckCell(op, cell, sizes, hx, cx, weight, gates);
  const int64_t width = GatesOf(cell) * sizes.h;
  CheckShape({op, "gates"}, gates, {sizes.t, sizes.b, width});
  CheckFloat({op, "bias"}, bias, {width}, gates);
  const TensorSpec output{gates.dtype, {sizes.t, sizes.b, sizes.h}}, state{gates.dtype, {sizes.b, sizes.h}};
  const TensorSpec saved{gates.dtype, {sizes.t, sizes.b, SavedBy(cell) * sizes.h}};
  if (cx != nullptr) return {output, state, state, saved};
  if (SavedBy(cell) > 0) return {output, state, saved};
  return {output, state};
}

Specs InferGrad(std::string_view op, Cell cell, const TensorView& output, const TensorView* saved, const TensorView& hx,
                const TensorView* cx, const TensorView& weight, const Optional& grad_output, const Optional& grad_h_n,
                const Optional& grad_c_n) {
  CheckFloat({op, "output"}, output, output);
  CheckRank({op, "output"}, output, 3, 3, "(t, b, h)");
  const Sizes sizes{output.shape[0], output.shape[1], output.shape[2]};
  CheckCell(op, cell, sizes, hx, cx, weight, output);
  if (saved != nullptr) {
    CheckFloat({op, "saved"}, *saved, output);
    CheckShape({op, "saved"}, *saved, {sizes.t, sizes.b, SavedBy(cell) * sizes.h});
  }
  CheckFloat({op, "grad_output"}, grad_output, output.shape, output);
  CheckFloat({op, "grad_h_n"}, grad_h_n, {sizes.b, sizes.h}, output);
  CheckFloat({op, "grad_c_n"}, grad_c_n, {sizes.b, sizes.h}, output);
  REPDL_CHECK(grad_output || grad_h_n || grad_c_n, "[", op, "] a gradient of some output must be given");
  const int64_t width = GatesOf(cell) * sizes.h;
  IntList states{sizes.b, sizes.h};
  if (cx != nullptr) states = {2, sizes.b, sizes.h};
  return {{output.dtype, {sizes.t, sizes.b, width}},
          {output.dtype, states},
          {output.dtype, {width, sizes.h}},
          {output.dtype, {width}}};
}

template <class T>
const T* Numbers(const TensorView& tensor, OpScratch& scratch) {
  return Contiguous(tensor, scratch).Data<const T>();
}
template <class T>
const T* Numbers(const TensorView* tensor, OpScratch& scratch) {
  return tensor == nullptr ? nullptr : Numbers<T>(*tensor, scratch);
}
template <class T>
const T* Numbers(const Optional& tensor, OpScratch& scratch) {
  return tensor ? Numbers<T>(*tensor, scratch) : nullptr;
}

void Run(std::string_view op, Cell cell, const TensorView& gates, const TensorView& hx, const TensorView* cx,
         const TensorView& weight, const Optional& bias, bool reverse, Order order, const TensorView& output,
         const TensorView& h_n, const TensorView* c_n, const TensorView* saved) {
  const Place place = PlaceOf(op, gates);
  if (output.numel() == 0) return;
  DispatchReal(gates.dtype, [&]<class T>() {
    OpScratch scratch(place);
    RecurrentArgs<T> args{};
    args.cell = cell;
    args.steps = output.shape[0], args.batch = output.shape[1], args.hidden = output.shape[2];
    args.reverse = reverse, args.order = order;
    args.gates = Numbers<T>(gates, scratch);
    args.hx = Numbers<T>(hx, scratch), args.cx = Numbers<T>(cx, scratch);
    args.weight = Numbers<T>(weight, scratch), args.bias = Numbers<T>(bias, scratch);
    args.output = output.Data<T>(), args.h_n = h_n.Data<T>();
    if (c_n != nullptr) args.c_n = c_n->Data<T>();
    if (saved != nullptr) args.saved = saved->Data<T>();
    RecurrentKernel(place, args);
  });
}

void RunGrad(std::string_view op, Cell cell, const TensorView& output, const TensorView* saved, const TensorView& hx,
             const TensorView* cx, const TensorView& weight, const Optional& grad_output, const Optional& grad_h_n,
             const Optional& grad_c_n, bool reverse, Order order, const TensorView& grad_gates,
             const TensorView& grad_states, const TensorView& grad_weight, const TensorView& grad_bias) {
  const FpEnvGuard guard;
  CheckOutputs(op, InferGrad(op, cell, output, saved, hx, cx, weight, grad_output, grad_h_n, grad_c_n),
               {&grad_gates, &grad_states, &grad_weight, &grad_bias}, output);
  const Place place = PlaceOf(op, output);
  if (output.numel() == 0) {
    FillWithZero(place, grad_weight);
    FillWithZero(place, grad_bias);
    return;
  }
  DispatchReal(output.dtype, [&]<class T>() {
    OpScratch scratch(place);
    RecurrentGradArgs<T> args{};
    args.cell = cell;
    args.steps = output.shape[0], args.batch = output.shape[1], args.hidden = output.shape[2];
    args.reverse = reverse, args.order = order;
    args.output = Numbers<T>(output, scratch), args.saved = Numbers<T>(saved, scratch);
    args.hx = Numbers<T>(hx, scratch), args.cx = Numbers<T>(cx, scratch);
    args.weight = Numbers<T>(weight, scratch);
    args.grad_output = Numbers<T>(grad_output, scratch);
    args.grad_h_n = Numbers<T>(grad_h_n, scratch), args.grad_c_n = Numbers<T>(grad_c_n, scratch);
    args.grad_gates = grad_gates.Data<T>();
    args.grad_hx = grad_states.Data<T>();
    if (cx != nullptr) args.grad_cx = args.grad_hx + args.batch * args.hidden;
    args.grad_weight = grad_weight.Data<T>(), args.grad_bias = grad_bias.Data<T>();
    RecurrentGradKernel(place, args);
  });
}

}  // namespace

Specs InferLstm(const TensorView& gates, const TensorView& hx, const TensorView& cx, const TensorView& weight,
                const Optional& bias, bool, Order) {
  return Infer("lstm", Cell::kLstm, gates, hx, &cx, weight, bias);
}
void Lstm(const TensorView& gates, const TensorView& hx, const TensorView& cx, const TensorView& weight,
          const Optional& bias, bool reverse, Order order, Out output, Out h_n, Out c_n, Out saved) {
  const FpEnvGuard guard;
  CheckOutputs("lstm", InferLstm(gates, hx, cx, weight, bias, reverse, order), {&output, &h_n, &c_n, &saved}, gates);
  Run("lstm", Cell::kLstm, gates, hx, &cx, weight, bias, reverse, order, output, h_n, &c_n, &saved);
}

Specs InferLstmGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& cx,
                    const TensorView& weight, const Optional& grad_output, const Optional& grad_h_n,
                    const Optional& grad_c_n, bool, Order) {
  return InferGrad("lstm_grad", Cell::kLstm, output, &saved, hx, &cx, weight, grad_output, grad_h_n, grad_c_n);
}
void LstmGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& cx,
              const TensorView& weight, const Optional& grad_output, const Optional& grad_h_n, const Optional& grad_c_n,
              bool reverse, Order order, Out grad_gates, Out grad_states, Out grad_weight, Out grad_bias) {
  RunGrad("lstm_grad", Cell::kLstm, output, &saved, hx, &cx, weight, grad_output, grad_h_n, grad_c_n, reverse, order,
          grad_gates, grad_states, grad_weight, grad_bias);
}

Specs InferGru(const TensorView& gates, const TensorView& hx, const TensorView& weight, const Optional& bias, bool,
               Order) {
  return Infer("gru", Cell::kGru, gates, hx, nullptr, weight, bias);
}
void Gru(const TensorView& gates, const TensorView& hx, const TensorView& weight, const Optional& bias, bool reverse,
         Order order, Out output, Out h_n, Out saved) {
  const FpEnvGuard guard;
  CheckOutputs("gru", InferGru(gates, hx, weight, bias, reverse, order), {&output, &h_n, &saved}, gates);
  Run("gru", Cell::kGru, gates, hx, nullptr, weight, bias, reverse, order, output, h_n, nullptr, &saved);
}

Specs InferGruGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& weight,
                   const Optional& grad_output, const Optional& grad_h_n, bool, Order) {
  return InferGrad("gru_grad", Cell::kGru, output, &saved, hx, nullptr, weight, grad_output, grad_h_n, {});
}
void GruGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& weight,
             const Optional& grad_output, const Optional& grad_h_n, bool reverse, Order order, Out grad_gates,
             Out grad_hx, Out grad_weight, Out grad_bias) {
  RunGrad("gru_grad", Cell::kGru, output, &saved, hx, nullptr, weight, grad_output, grad_h_n, {}, reverse, order,
          grad_gates, grad_hx, grad_weight, grad_bias);
}

Specs InferRnn(const TensorView& gates, const TensorView& hx, const TensorView& weight, const Optional& bias,
               std::string_view nonlinearity, bool, Order) {
  return Infer("rnn", RnnCellOf("rnn", nonlinearity), gates, hx, nullptr, weight, bias);
}
void Rnn(const TensorView& gates, const TensorView& hx, const TensorView& weight, const Optional& bias,
         std::string_view nonlinearity, bool reverse, Order order, Out output, Out h_n) {
  const FpEnvGuard guard;
  CheckOutputs("rnn", InferRnn(gates, hx, weight, bias, nonlinearity, reverse, order), {&output, &h_n}, gates);
  Run("rnn", RnnCellOf("rnn", nonlinearity), gates, hx, nullptr, weight, bias, reverse, order, output, h_n, nullptr,
      nullptr);
}

Specs InferRnnGrad(const TensorView& output, const TensorView& hx, const TensorView& weight,
                   const Optional& grad_output, const Optional& grad_h_n, std::string_view nonlinearity, bool, Order) {
  return InferGrad("rnn_grad", RnnCellOf("rnn_grad", nonlinearity), output, nullptr, hx, nullptr, weight, grad_output,
                   grad_h_n, {});
}
void RnnGrad(const TensorView& output, const TensorView& hx, const TensorView& weight, const Optional& grad_output,
             const Optional& grad_h_n, std::string_view nonlinearity, bool reverse, Order order, Out grad_gates,
             Out grad_hx, Out grad_weight, Out grad_bias) {
  RunGrad("rnn_grad", RnnCellOf("rnn_grad", nonlinearity), output, nullptr, hx, nullptr, weight, grad_output, grad_h_n,
          {}, reverse, order, grad_gates, grad_hx, grad_weight, grad_bias);
}

}  // namespace repdl

REPDL_OPS(recurrent,
          MakeOp<InferLstm, Lstm, RecurrentKernel, MmKernel>(
              "lstm", "gates, hx, cx, weight, bias=None, reverse=False, order='blocked'", kFloat32Or64),
          MakeOp<InferLstmGrad, LstmGrad, RecurrentGradKernel, MmKernel>(
              "lstm_grad",
              "output, saved, hx, cx, weight, grad_output=None, grad_h_n=None, "
              "grad_c_n=None, reverse=False, order='blocked'",
              kFloat32Or64),
          MakeOp<InferGru, Gru, RecurrentKernel, MmKernel>(
              "gru", "gates, hx, weight, bias=None, reverse=False, order='blocked'", kFloat32Or64),
          MakeOp<InferGruGrad, GruGrad, RecurrentGradKernel, MmKernel>(
              "gru_grad",
              "output, saved, hx, weight, grad_output=None, grad_h_n=None, reverse=False, "
              "order='blocked'",
              kFloat32Or64),
          MakeOp<InferRnn, Rnn, RecurrentKernel, MmKernel>(
              "rnn", "gates, hx, weight, bias=None, nonlinearity='tanh', reverse=False, order='blocked'", kFloat32Or64),
          MakeOp<InferRnnGrad, RnnGrad, RecurrentGradKernel, MmKernel>(
              "rnn_grad",
              "output, hx, weight, grad_output=None, grad_h_n=None, nonlinearity='tanh', "
              "reverse=False, order='blocked'",
              kFloat32Or64))
