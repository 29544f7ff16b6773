// SPDX-License-Identifier: MIT
// The cells of recurrent layers, in lane words, for a vector of hidden units; the contracts stand in recurrent.h.
//
// Forward takes the recurrent part p(gate) and the input's part x(gate), and brings h, and c if there is one, a step
// further. Backward takes what Forward saved, the step's own result, the h and c that it began with, and their
// gradients; it puts the gradients of both parts, and leaves in `dc` and `kept` what goes to the step before beside the
// product.

struct LstmCell {
  static constexpr int kGates = 4, kSaved = 5;
  static constexpr bool kHasC = true, kKeeps = false, kSplits = false;

  template <class P, class X, class Saved, class V>
  static REPDL_LANE void Forward(const P& p, const X& x, const Saved& saved, V& h, V& c) {
    const V i = SigmoidOfEach(Add(p(0), x(0))), f = SigmoidOfEach(Add(p(1), x(1)));
    const V g = TanhOfEach(Add(p(2), x(2))), o = SigmoidOfEach(Add(p(3), x(3)));
    c = Add(Mul(f, c), Mul(i, g));
    h = Mul(o, TanhOfEach(c));
    saved.Put(0, i), saved.Put(1, f), saved.Put(2, g), saved.Put(3, o), saved.Put(4, c);
  }

  template <class Saved, class Grads, class V>
  static REPDL_LANE void Backward(const Saved& saved, V, V, V c, bool has_dh, V dh, bool has_dc, V& dc, V&,
                                  const Grads& grads, const Grads&) {
    const V i = saved(0), f = saved(1), g = saved(2), o = saved(3), y = TanhOfEach(saved(4));
    V grad_o = Zero(TagFor(y));
    if (has_dh) {
      const V by_h = TanhGradOfEach(Mul(dh, o), y);
      if (has_dc) {
        dc = Add(dc, by_h);
      } else {
        dc = by_h;
      }
      grad_o = SigmoidGradOfEach(Mul(dh, y), o);
    }
    grads.Put(0, SigmoidGradOfEach(Mul(dc, g), i));
    grads.Put(1, SigmoidGradOfEach(Mul(dc, c), f));
    grads.Put(2, TanhGradOfEach(Mul(dc, i), g));
    grads.Put(3, grad_o);
    dc = Mul(dc, f);
  }
};

struct GruCell {
  static constexpr int kGates = 3, kSaved = 4;
  static constexpr bool kHasC = false, kKeeps = true, kSplits = true;

  template <class P, class X, class Saved, class V>
  static REPDL_LANE void Forward(const P& p, const X& x, const Saved& saved, V& h, V&) {
    const V r = SigmoidOfEach(Add(p(0), x(0))), z = SigmoidOfEach(Add(p(1), x(1))), q = p(2);
    const V n = TanhOfEach(Add(x(2), Mul(q, r)));
    h = Add(Mul(Sub(h, n), z), n);
    saved.Put(0, r), saved.Put(1, z), saved.Put(2, n), saved.Put(3, q);
  }

  template <class Saved, class Grads, class V>
  static REPDL_LANE void Backward(const Saved& saved, V, V h, V, bool, V dh, bool, V&, V& kept, const Grads& grads,
                                  const Grads& recurrent) {
    const V r = saved(0), z = saved(1), n = saved(2), q = saved(3);
    kept = Mul(dh, z);
    const V grad_z = SigmoidGradOfEach(Mul(dh, Sub(h, n)), z);
    const V grad_n = TanhGradOfEach(Sub(dh, kept), n);
    const V grad_r = SigmoidGradOfEach(Mul(grad_n, q), r);
    grads.Put(0, grad_r), grads.Put(1, grad_z), grads.Put(2, grad_n);
    recurrent.Put(0, grad_r), recurrent.Put(1, grad_z), recurrent.Put(2, Mul(grad_n, r));
  }
};

template <bool kRelu>
struct RnnCell {
  static constexpr int kGates = 1, kSaved = 0;
  static constexpr bool kHasC = false, kKeeps = false, kSplits = false;

  template <class P, class X, class Saved, class V>
  static REPDL_LANE void Forward(const P& p, const X& x, const Saved&, V& h, V&) {
    const V sum = Add(p(0), x(0));
    if constexpr (kRelu) {
      h = Relu(sum);
    } else {
      h = TanhOfEach(sum);
    }
  }

  template <class Saved, class Grads, class V>
  static REPDL_LANE void Backward(const Saved&, V result, V, V, bool, V dh, bool, V&, V&, const Grads& grads,
                                  const Grads&) {
    if constexpr (kRelu) {
      grads.Put(0, ReluGrad(dh, result));
    } else {
      grads.Put(0, TanhGradOfEach(dh, result));
    }
  }
};
