// SPDX-License-Identifier: MIT
#include <cmath>

#include "functions.h"
#include "mm.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

template <class T>
T Sigmoid(T x) {
  return Rounded<T>(*FindFunction("sigmoid"), x, T{0}, sizeof(T) == 8 ? kFloat64 : kFloat32);
}
template <class T>
T Tanh(T x) {
  return Rounded<T>(*FindFunction("tanh"), x, T{0}, sizeof(T) == 8 ? kFloat64 : kFloat32);
}
template <class T>
T SigmoidGrad(T grad, T y) {
  return static_cast<T>(grad * ((1.0 - y) * y));
}
template <class T>
T TanhGrad(T grad, T y) {
  const double slope = std::fma(-static_cast<double>(y), static_cast<double>(y), 1.0);
  return static_cast<T>(grad * slope);
}

/// A gradient that some term may give or none.
template <class T>
struct Given {
  T value = 0;
  bool is_given = false;

  void Add(T term) {
    value = is_given ? value + term : term;
    is_given = true;
  }
};

/// The places of a call: H units of B samples in T steps, with `gates` gates and `kept` saved numbers a unit.
struct Places {
  int64_t steps, batch, hidden;
  int64_t gates, kept;
  bool reverse;

  int64_t Of(int64_t step) const { return reverse ? steps - 1 - step : step; }
  int64_t State(int64_t b, int64_t j) const { return b * hidden + j; }
  int64_t Output(int64_t step, int64_t b, int64_t j) const { return (Of(step) * batch + b) * hidden + j; }
  int64_t Gate(int64_t step, int64_t b, int64_t gate, int64_t j) const {
    return ((Of(step) * batch + b) * gates + gate) * hidden + j;
  }
  int64_t Saved(int64_t step, int64_t b, int64_t which, int64_t j) const {
    return ((Of(step) * batch + b) * kept + which) * hidden + j;
  }
};

Places PlacesOf(const Arguments& args, std::string_view sequence, int64_t gates, int64_t kept) {
  const IntList shape = args.Shape(sequence), state = args.Shape("hx");
  return {shape[0], state[0], state[1], gates, kept, args.Flag("reverse")};
}

int64_t GatesOf(std::string_view op) { return op.starts_with("lstm") ? 4 : op.starts_with("gru") ? 3 : 1; }
int64_t KeptBy(std::string_view op) { return op.starts_with("lstm") ? 5 : op.starts_with("gru") ? 4 : 0; }

}  // namespace

template <class T>
static Results RunRecurrent(const Case& test_case) {
  const Arguments args(test_case);
  const std::string_view op = test_case.op().name;
  const Places at = PlacesOf(args, "gates", GatesOf(op), KeptBy(op));
  const Numbers<T> gates = args.NumbersOf<T>("gates"), weight = args.NumbersOf<T>("weight"),
                   bias = args.NumbersOf<T>("bias");
  const bool is_lstm = op == "lstm", is_gru = op == "gru";
  const int64_t rows = at.gates * at.hidden;
  Numbers<T> h = args.NumbersOf<T>("hx"), c(h.size()), output(at.steps * at.batch * at.hidden),
             saved(at.steps * at.batch * at.kept * at.hidden);
  if (is_lstm) c = args.NumbersOf<T>("cx");
  for (int64_t step = 0; step < at.steps; ++step) {
    const Numbers<T> products = Linear<T>(h, weight, bias, at.batch, rows, at.hidden, args.TheOrder());
    for (int64_t b = 0; b < at.batch; ++b) {
      for (int64_t j = 0; j < at.hidden; ++j) {
        const auto q = [&](int64_t gate) { return products[b * rows + gate * at.hidden + j]; };
        const auto x = [&](int64_t gate) { return gates[at.Gate(step, b, gate, j)]; };
        const auto save = [&](int64_t which, T value) { saved[at.Saved(step, b, which, j)] = value; };
        T& state = h[at.State(b, j)];
        if (is_lstm) {
          const T i = Sigmoid<T>(q(0) + x(0)), f = Sigmoid<T>(q(1) + x(1)), g = Tanh<T>(q(2) + x(2)),
                  o = Sigmoid<T>(q(3) + x(3));
          T& cell = c[at.State(b, j)];
          const T forgotten = f * cell, new_part = i * g;
          cell = forgotten + new_part;
          state = o * Tanh<T>(cell);
          save(0, i), save(1, f), save(2, g), save(3, o), save(4, cell);
        } else if (is_gru) {
          const T r = Sigmoid<T>(q(0) + x(0)), z = Sigmoid<T>(q(1) + x(1));
          const T reset = q(2) * r;
          const T n = Tanh<T>(x(2) + reset);
          const T mixed = (state - n) * z;
          state = mixed + n;
          save(0, r), save(1, z), save(2, n), save(3, q(2));
        } else if (args.Text("nonlinearity") == "relu") {
          const T sum = q(0) + x(0);
          state = sum < 0 ? T{0} : sum;
        } else {
          state = Tanh<T>(q(0) + x(0));
        }
        output[at.Output(step, b, j)] = state;
      }
    }
  }
  Results results;
  Append(results, output, args.OutputShape(0));
  Append(results, h, args.OutputShape(1));
  if (is_lstm) Append(results, c, args.OutputShape(2));
  if (at.kept > 0) Append(results, saved, args.OutputShape(is_lstm ? 3 : 2));
  return results;
}

template <class T>
static Results RunRecurrentGrad(const Case& test_case) {
  const Arguments args(test_case);
  const std::string_view op = test_case.op().name;
  const Places at = PlacesOf(args, "output", GatesOf(op), KeptBy(op));
  const bool is_lstm = op == "lstm_grad", is_gru = op == "gru_grad";
  const int64_t rows = at.gates * at.hidden;
  const Order order = args.TheOrder();
  const Numbers<T> output = args.NumbersOf<T>("output"), hx = args.NumbersOf<T>("hx"),
                   weight = args.NumbersOf<T>("weight"), grad_output = args.NumbersOf<T>("grad_output"),
                   grad_h_n = args.NumbersOf<T>("grad_h_n");
  Numbers<T> saved, cx, grad_c_n;
  if (is_lstm || is_gru) saved = args.NumbersOf<T>("saved");
  if (is_lstm) cx = args.NumbersOf<T>("cx"), grad_c_n = args.NumbersOf<T>("grad_c_n");
  const bool has_grad_c_n = is_lstm && args.Has("grad_c_n");
  Numbers<T> grad_gates(at.steps * at.batch * rows), of_products(grad_gates.size()), grad_weight(rows * at.hidden),
      grad_bias(rows), later(hx.size()), kept(hx.size()), grad_c(hx.size()), h(hx.size());
  for (int64_t step = at.steps - 1; step >= 0; --step) {
    const bool last = step == at.steps - 1;
    for (int64_t b = 0; b < at.batch; ++b) {
      for (int64_t j = 0; j < at.hidden; ++j) {
        const int64_t state = at.State(b, j);
        const auto save = [&](int64_t which) { return saved[at.Saved(step, b, which, j)]; };
        const auto put = [&](int64_t gate, T value) { grad_gates[at.Gate(step, b, gate, j)] = value; };
        h[state] = step == 0 ? hx[state] : output[at.Output(step - 1, b, j)];
        Given<T> dh, dc;
        if (args.Has("grad_output")) dh.Add(grad_output[at.Output(step, b, j)]);
        if (last && args.Has("grad_h_n")) dh.Add(grad_h_n[state]);
        if (!last && is_gru) dh.Add(kept[state]);
        if (!last) dh.Add(later[state]);
        if (is_lstm) {
          const T i = save(0), f = save(1), g = save(2), o = save(3), y = Tanh<T>(save(4));
          const T c = step == 0 ? cx[state] : saved[at.Saved(step - 1, b, 4, j)];
          if (!last) dc.Add(grad_c[state]);
          if (last && has_grad_c_n) dc.Add(grad_c_n[state]);
          if (dh.is_given) dc.Add(TanhGrad<T>(dh.value * o, y));
          put(0, SigmoidGrad<T>(dc.value * g, i));
          put(1, SigmoidGrad<T>(dc.value * c, f));
          put(2, TanhGrad<T>(dc.value * i, g));
          put(3, dh.is_given ? SigmoidGrad<T>(dh.value * y, o) : T{0});
          grad_c[state] = dc.value * f;
        } else if (is_gru) {
          const T r = save(0), z = save(1), n = save(2), q = save(3);
          kept[state] = dh.value * z;
          const T grad_n = TanhGrad<T>(dh.value - kept[state], n);
          put(0, SigmoidGrad<T>(grad_n * q, r));
          put(1, SigmoidGrad<T>(dh.value * (h[state] - n), z));
          put(2, grad_n);
          of_products[at.Gate(step, b, 2, j)] = grad_n * r;
        } else {
          const T y = output[at.Output(step, b, j)];
          const bool is_relu = args.Text("nonlinearity") == "relu";
          put(0, !is_relu ? TanhGrad<T>(dh.value, y) : y <= 0 ? T{0} : dh.value);
        }
        for (int64_t gate = 0; gate < (is_gru ? 2 : at.gates); ++gate) {
          of_products[at.Gate(step, b, gate, j)] = grad_gates[at.Gate(step, b, gate, j)];
        }
      }
    }
    const T* const grads = of_products.data() + at.Of(step) * at.batch * rows;
    later = Mm<T>({grads, rows, 1}, {weight.data(), at.hidden, 1}, at.batch, at.hidden, rows, order);
    const Numbers<T> products = Mm<T>({grads, 1, rows}, {h.data(), at.hidden, 1}, rows, at.hidden, at.batch, order);
    for (int64_t i = 0; i < rows * at.hidden; ++i) grad_weight[i] = last ? products[i] : grad_weight[i] + products[i];
    for (int64_t n = 0; n < rows; ++n) {
      SumOf<T> sum(order);
      for (int64_t b = 0; b < at.batch; ++b) sum.Add(grads[b * rows + n]);
      const T term = sum.Result();
      grad_bias[n] = last ? term : grad_bias[n] + term;
    }
  }
  Numbers<T> states = later;
  if (is_gru) {
    for (size_t i = 0; i < states.size(); ++i) states[i] = kept[i] + later[i];
  }
  if (is_lstm) states.insert(states.end(), grad_c.begin(), grad_c.end());
  Results results;
  Append(results, grad_gates, args.OutputShape(0));
  Append(results, states, args.OutputShape(1));
  Append(results, grad_weight, args.OutputShape(2));
  Append(results, grad_bias, args.OutputShape(3));
  return results;
}

static const Op kOps[] = {{"lstm", REPDL_EITHER(RunRecurrent)}, {"lstm_grad", REPDL_EITHER(RunRecurrentGrad)},
                          {"gru", REPDL_EITHER(RunRecurrent)},  {"gru_grad", REPDL_EITHER(RunRecurrentGrad)},
                          {"rnn", REPDL_EITHER(RunRecurrent)},  {"rnn_grad", REPDL_EITHER(RunRecurrentGrad)}};

}  // namespace repdl::reference
