// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>

#include "functions.h"
#include "op.h"
#include "parallel.h"
#include "philox.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// The arguments of a case, and its tensors element by element.
template <class T>
struct Attention {
  explicit Attention(const Case& test_case)
      : args(test_case),
        query(args.NumbersOf<T>("query")),
        key(args.NumbersOf<T>("key")),
        value(args.NumbersOf<T>("value")),
        attn_mask(args.NumbersOf<T>("attn_mask")),
        dropout_mask(args.NumbersOf<T>("dropout_mask")),
        dropout(args),
        batch(args.Shape("query")[0]),
        heads(args.Shape("query")[1]),
        key_heads(args.Shape("key")[1]),
        queries(args.Shape("query")[2]),
        keys(args.Shape("key")[2]),
        width(args.Shape("query")[3]),
        value_width(args.Shape("value")[3]),
        scale(static_cast<T>(args.Has("scale") ? args.Number("scale") : 1.0 / std::sqrt(static_cast<double>(width)))) {}

  /// Query i and key or value j of head h, which is numbered through the batch.
  T Query(int64_t h, int64_t i, int64_t e) const { return query[(h * queries + i) * width + e] * scale; }
  T Key(int64_t h, int64_t j, int64_t e) const { return key[(KeyHead(h) * keys + j) * width + e]; }
  T Value(int64_t h, int64_t j, int64_t v) const { return value[(KeyHead(h) * keys + j) * value_width + v]; }
  int64_t KeyHead(int64_t h) const { return h / heads * key_heads + h % heads / (heads / key_heads); }

  int64_t KeysOf(int64_t i) const { return args.Flag("is_causal") ? std::min(keys, i + 1) : keys; }

  /// An element of a mask that is broadcast.
  T Mask(std::string_view name, const Numbers<T>& mask, int64_t h, int64_t i, int64_t j) const {
    const IntList shape = args.Shape(name);
    const int64_t index[] = {h / heads, h % heads, i, j};
    int64_t at = 0;
    for (int dim = 0; dim < shape.size(); ++dim) {
      at = at * shape[dim] + (shape[dim] == 1 ? 0 : index[4 - shape.size() + dim]);
    }
    return mask[at];
  }
  T Dropped(T x, int64_t h, int64_t i, int64_t j) const {
    if (const double p = args.Number("dropout_p"); p > 0.0) {
      const uint64_t number = dropout.Number(static_cast<size_t>((h * queries + i) * keys + j));
      return x * (dropout.Bernoulli(number, 1.0 - p) == 1.0f ? T{1} / static_cast<T>(1.0 - p) : T{0});
    }
    return args.Has("dropout_mask") ? x * Mask("dropout_mask", dropout_mask, h, i, j) : x;
  }

  /// p of query i.
  Numbers<T> Probabilities(int64_t h, int64_t i) const {
    const int64_t n = KeysOf(i);
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    Numbers<T> p(n);
    T largest = -kInfinity;
    bool is_empty = true;
    for (int64_t j = 0; j < n; ++j) {
      ProductOf<T> product(args.TheOrder());
      for (int64_t e = 0; e < width; ++e) product.Add(Query(h, i, e), Key(h, j, e));
      p[j] = product.Result();
      if (args.Has("attn_mask")) p[j] = p[j] + Mask("attn_mask", attn_mask, h, i, j);
      if (p[j] > largest) largest = p[j];
      if (!(p[j] == -kInfinity)) is_empty = false;
    }
    if (is_empty) return Numbers<T>(n, T{0});
    SumOf<T> sum(args.TheOrder());
    for (T& x : p) {
      x = Exp(x - largest);
      sum.Add(x);
    }
    const T total = sum.Result();
    for (T& x : p) x = x / total;
    return p;
  }

  Arguments args;
  Numbers<T> query, key, value, attn_mask, dropout_mask;
  PhiloxStream dropout;
  int64_t batch, heads, key_heads, queries, keys, width, value_width;
  T scale;
};

}  // namespace

template <class T>
static Results RunAttention(const Case& test_case) {
  const Attention<T> x(test_case);
  Numbers<T> output(Size(x.args.OutputShape()));
  ForEach(x.batch * x.heads * x.queries, [&](int64_t row) {
    const int64_t h = row / x.queries, i = row % x.queries;
    const Numbers<T> p = x.Probabilities(h, i);
    for (int64_t v = 0; v < x.value_width; ++v) {
      ProductOf<T> product(x.args.TheOrder());
      for (int64_t j = 0; j < x.KeysOf(i); ++j) product.Add(x.Dropped(p[j], h, i, j), x.Value(h, j, v));
      output[row * x.value_width + v] = product.Result();
    }
  });
  Results results;
  Append(results, output, x.args.OutputShape());
  return results;
}

template <class T>
static Results RunAttentionGrad(const Case& test_case) {
  const Attention<T> x(test_case);
  const Order order = x.args.TheOrder();
  const Numbers<T> grad_output = x.args.template NumbersOf<T>("grad_output");
  const auto grad = [&](int64_t h, int64_t i, int64_t v) {
    return grad_output[(h * x.queries + i) * x.value_width + v];
  };
  Numbers<T> grad_query(x.query.size()), grad_key(x.key.size()), grad_value(x.value.size());
  const int64_t group = x.heads / std::max<int64_t>(x.key_heads, 1);
  ForEach(x.batch * x.key_heads, [&](int64_t key_head) {
    // What each head of the group adds to the gradients by keys and values.
    std::vector<Numbers<T>> by_key(group, Numbers<T>(x.keys * x.width)),
        by_value(group, Numbers<T>(x.keys * x.value_width));
    for (int64_t g = 0; g < group; ++g) {
      const int64_t h = key_head * group + g;
      std::vector<Numbers<T>> d(x.queries), ds(x.queries);  // as long as the query has keys
      for (int64_t i = 0; i < x.queries; ++i) {
        const int64_t n = x.KeysOf(i);
        const Numbers<T> p = x.Probabilities(h, i);
        Numbers<T> a(n);
        SumOf<T> t(order);
        for (int64_t j = 0; j < n; ++j) {
          ProductOf<T> product(order);
          for (int64_t v = 0; v < x.value_width; ++v) product.Add(grad(h, i, v), x.Value(h, j, v));
          a[j] = x.Dropped(product.Result(), h, i, j);
          t.Add(a[j] * p[j]);
        }
        const T sum = t.Result();
        for (int64_t j = 0; j < n; ++j) {
          d[i].push_back(x.Dropped(p[j], h, i, j));
          ds[i].push_back((a[j] - sum) * p[j]);
        }
        for (int64_t e = 0; e < x.width; ++e) {
          ProductOf<T> product(order);
          for (int64_t j = 0; j < n; ++j) product.Add(ds[i][j], x.Key(h, j, e));
          grad_query[(h * x.queries + i) * x.width + e] = product.Result() * x.scale;
        }
      }
      for (int64_t j = 0; j < x.keys; ++j) {
        const auto over_queries = [&](const std::vector<Numbers<T>>& factor, auto other) {
          ProductOf<T> product(order);
          for (int64_t i = 0; i < x.queries; ++i) {
            if (j < x.KeysOf(i)) {
              product.Add(factor[i][j], other(i));
            } else {
              product.Skip();
            }
          }
          return product.Result();
        };
        for (int64_t e = 0; e < x.width; ++e) {
          by_key[g][j * x.width + e] = over_queries(ds, [&](int64_t i) { return x.Query(h, i, e); });
        }
        for (int64_t v = 0; v < x.value_width; ++v) {
          by_value[g][j * x.value_width + v] = over_queries(d, [&](int64_t i) { return grad(h, i, v); });
        }
      }
    }
    const auto over_group = [&](const std::vector<Numbers<T>>& terms, int64_t size, Numbers<T>& result) {
      for (int64_t at = 0; at < size; ++at) {
        SumOf<T> sum(order);
        for (const Numbers<T>& term : terms) sum.Add(term[at]);
        result[key_head * size + at] = sum.Result();
      }
    };
    over_group(by_key, x.keys * x.width, grad_key);
    over_group(by_value, x.keys * x.value_width, grad_value);
  });
  Results results;
  Append(results, grad_query, x.args.OutputShape(0));
  Append(results, grad_key, x.args.OutputShape(1));
  Append(results, grad_value, x.args.OutputShape(2));
  return results;
}

static const Op kOps[] = {{"attention", REPDL_EITHER(RunAttention)},
                          {"attention_grad", REPDL_EITHER(RunAttentionGrad)}};

}  // namespace repdl::reference
