// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "repdl/op.h"
#include "repdl/order.h"

/*! lstm
One direction of one layer, over T steps of B samples and H hidden units. `gates` is the part of the input,
`linear(input, weight_ih, bias_ih)`. Step s = 0 … T-1 has the place t = s, or t = T-1-s if `reverse`. Its h and c are
those that the step before has left, `hx` and `cx` at first. For each sample, with m < 4H and j < H:

- `p[m] = (Product(h[k], weight[m, k]) + bias[m]) + gates[t, m]` over k < H; without a bias, the product plus
  `gates[t, m]`
- `i = sigmoid(p[j])`, `f = sigmoid(p[H + j])`, `g = tanh(p[2H + j])`, `o = sigmoid(p[3H + j])`
- `c'[j] = f * c[j] + i * g`, `h'[j] = o * tanh(c'[j])`

`output[t]` is h', `h_n` and `c_n` are the last h' and c'. `saved[t]` has i, f, g, o and c', which lstm_grad reads.
*/

/*! lstm_grad
The steps of lstm backwards, s = T-1 … 0. dh and dc are the gradients of h' and c': `dh = grad_output[t] + grad_h_n`
and `dc = grad_c_n` at the last step, `dh = grad_output[t] + dh_later` and `dc = dc_later` before. What is not given
is left out of a sum. With y = tanh(c'):

- `dc' = dc + tanh_grad(dh * o, y)`
- `grad_gates[t]` is `sigmoid_grad(dc' * g, i)`, `sigmoid_grad(dc' * c, f)`, `tanh_grad(dc' * i, g)` and
  `sigmoid_grad(dh * y, o)`, H each; where nothing gives a dh, the last is +0 and `dc' = dc`
- `dc_later[j] = dc' * f` and `dh_later[k] = Product(grad_gates[t, m], weight[m, k])` over m, for the step before

`grad_states` is what step 0 leaves: of hx, then of cx. `grad_weight[m, k]` is the sum of
`Product(grad_gates[t, b, m], h[b, k])` over the samples b, a term a step, from the last step to the first and from left
to right; `grad_bias[m]` that of `Sum(grad_gates[t, b, m])`.
*/

/*! gru
As lstm, with 3H gates and without c:

- `q[m] = Product(h[k], weight[m, k]) + bias[m]` over k < H; without a bias, the product alone
- `r = sigmoid(q[j] + gates[t, j])`, `z = sigmoid(q[H + j] + gates[t, H + j])`
- `n = tanh(gates[t, 2H + j] + q[2H + j] * r)`
- `h'[j] = (h[j] - n) * z + n`

`saved[t]` has r, z, n and `q[2H + j]`.
*/

/*! gru_grad
The steps of gru backwards, as in lstm_grad. At the last step `dh = grad_output[t] + grad_h_n`, before
`dh = (grad_output[t] + dh_kept) + dh_later`:

- `dh_kept[j] = dh * z`, for the step before
- `dn = tanh_grad(dh - dh * z, n)`
- `grad_gates[t]` is `sigmoid_grad(dn * q[2H + j], r)`, `sigmoid_grad(dh * (h[j] - n), z)` and dn; `grad_q` is the
  same with `dn * r` in the place of the last
- `dh_later[k] = Product(grad_q[m], weight[m, k])` over m, for the step before

`grad_hx = dh_kept + dh_later` of step 0. `grad_weight` and `grad_bias` are those of lstm_grad with grad_q in the
place of grad_gates.
*/

/*! rnn
As lstm, with H gates and without c: `h'[j] = tanh(p[j])`, or `relu(p[j])` with `nonlinearity='relu'`.
*/

/*! rnn_grad
The steps of rnn backwards, as in lstm_grad: `grad_gates[t] = tanh_grad(dh, h')`, or `relu_grad(dh, h')`. `grad_hx` is
dh_later of step 0.
*/

namespace repdl {

/// gates (t, b, 4h), hx and cx (b, h), weight (4h, h), bias (4h); output (t, b, h), h_n and c_n (b, h),
/// saved (t, b, 5h).
Specs InferLstm(const TensorView& gates, const TensorView& hx, const TensorView& cx, const TensorView& weight,
                const std::optional<TensorView>& bias, bool reverse, Order order);
void Lstm(const TensorView& gates, const TensorView& hx, const TensorView& cx, const TensorView& weight,
          const std::optional<TensorView>& bias, bool reverse, Order order, Out output, Out h_n, Out c_n, Out saved);

/// grad_output (t, b, h), grad_h_n and grad_c_n (b, h), of which one is given at least; grad_gates (t, b, 4h),
/// grad_states (2, b, h), grad_weight (4h, h), grad_bias (4h).
Specs InferLstmGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& cx,
                    const TensorView& weight, const std::optional<TensorView>& grad_output,
                    const std::optional<TensorView>& grad_h_n, const std::optional<TensorView>& grad_c_n, bool reverse,
                    Order order);
void LstmGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& cx,
              const TensorView& weight, const std::optional<TensorView>& grad_output,
              const std::optional<TensorView>& grad_h_n, const std::optional<TensorView>& grad_c_n, bool reverse,
              Order order, Out grad_gates, Out grad_states, Out grad_weight, Out grad_bias);

/// gates (t, b, 3h), hx (b, h), weight (3h, h), bias (3h); output (t, b, h), h_n (b, h), saved (t, b, 4h).
Specs InferGru(const TensorView& gates, const TensorView& hx, const TensorView& weight,
               const std::optional<TensorView>& bias, bool reverse, Order order);
void Gru(const TensorView& gates, const TensorView& hx, const TensorView& weight, const std::optional<TensorView>& bias,
         bool reverse, Order order, Out output, Out h_n, Out saved);

Specs InferGruGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& weight,
                   const std::optional<TensorView>& grad_output, const std::optional<TensorView>& grad_h_n,
                   bool reverse, Order order);
void GruGrad(const TensorView& output, const TensorView& saved, const TensorView& hx, const TensorView& weight,
             const std::optional<TensorView>& grad_output, const std::optional<TensorView>& grad_h_n, bool reverse,
             Order order, Out grad_gates, Out grad_hx, Out grad_weight, Out grad_bias);

/// gates (t, b, h), hx (b, h), weight (h, h), bias (h); output (t, b, h), h_n (b, h). nonlinearity is tanh or relu.
Specs InferRnn(const TensorView& gates, const TensorView& hx, const TensorView& weight,
               const std::optional<TensorView>& bias, std::string_view nonlinearity, bool reverse, Order order);
void Rnn(const TensorView& gates, const TensorView& hx, const TensorView& weight, const std::optional<TensorView>& bias,
         std::string_view nonlinearity, bool reverse, Order order, Out output, Out h_n);

Specs InferRnnGrad(const TensorView& output, const TensorView& hx, const TensorView& weight,
                   const std::optional<TensorView>& grad_output, const std::optional<TensorView>& grad_h_n,
                   std::string_view nonlinearity, bool reverse, Order order);
void RnnGrad(const TensorView& output, const TensorView& hx, const TensorView& weight,
             const std::optional<TensorView>& grad_output, const std::optional<TensorView>& grad_h_n,
             std::string_view nonlinearity, bool reverse, Order order, Out grad_gates, Out grad_hx, Out grad_weight,
             Out grad_bias);

}  // namespace repdl
