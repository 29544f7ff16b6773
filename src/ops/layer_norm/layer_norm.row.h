// SPDX-License-Identifier: MIT
// Rows of layer_norm and rms_norm and of their gradients by the input, in words of rows and lanes; the contracts stand in
// layer_norm.h. For rms_norm `is_centred` is false, and the mean +0. `r` is the contract's 1 / N.

template <class T>
struct RowMoments {
  T mean, rstd;
};

template <class Row, class T, class X, class W, class B, class Y>
REPDL_ROW RowMoments<T> LayerNormRow(const Row& row, bool is_centred, T r, T eps, const X& x, const W& weight,
                                     const B& bias, const Y& y) {
  const auto d = row.Tag();
  const T mean_of_row = is_centred ? row.Sum(x) * r : T{0};
  const auto mean = Set(d, mean_of_row);
  const T sum = row.Sum([&](auto at) REPDL_ROW_LAMBDA {
    const auto centred = Sub(x(at), mean);
    return Mul(centred, centred);
  });
  const auto rstd = Div(Set(d, T{1}), Sqrt(Set(d, sum * r + eps)));
  row.Each([&](auto at) REPDL_ROW_LAMBDA { y.Put(at, Add(Mul(Mul(Sub(x(at), mean), rstd), weight(at)), bias(at))); });
  return {mean_of_row, row.OneOf(rstd)};
}

template <class Row, class T, class G, class X, class W, class Grad>
REPDL_ROW void LayerNormGradRow(const Row& row, bool is_centred, T r, const RowMoments<T>& moments, const G& g,
                                const X& x, const W& weight, const Grad& grad) {
  const auto d = row.Tag();
  const auto mean = Set(d, moments.mean), rstd = Set(d, moments.rstd);
  const auto u = [&](auto at) REPDL_ROW_LAMBDA { return Mul(g(at), weight(at)); };
  const auto h = [&](auto at) REPDL_ROW_LAMBDA { return Mul(Sub(x(at), mean), rstd); };
  // First the sum that reads all that the other one reads.
  const T b = row.Sum([&](auto at) REPDL_ROW_LAMBDA {
    g.Prefetch(at);
    x.Prefetch(at);
    return Mul(u(at), h(at));
  });
  const T a = is_centred ? row.Sum(u) : T{0};
  const auto bias_share = Set(d, a * r), weight_share = Set(d, b * r);
  row.Each([&](auto at)
               REPDL_ROW_LAMBDA { grad.Put(at, Mul(rstd, Sub(Sub(u(at), bias_share), Mul(h(at), weight_share)))); });
}

/// A term of the gradient of a weight, by a row's gradient, number and moments.
template <class V>
REPDL_ROW V LayerNormWeightTerm(V g, V x, V mean, V rstd) {
  return Mul(g, Mul(Sub(x, mean), rstd));
}
