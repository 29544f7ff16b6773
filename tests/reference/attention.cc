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
struct Attention {
  explicit Attention(const Case& test_case)
      : args(test_case),
        query(args.FloatsOf("query")),
        key(args.FloatsOf("key")),
        value(args.FloatsOf("value")),
        attn_mask(args.FloatsOf("attn_mask")),
        dropout_mask(args.FloatsOf("dropout_mask")),
        dropout(args),
        batch(args.Shape("query")[0]),
        heads(args.Shape("query")[1]),
        key_heads(args.Shape("key")[1]),
        queries(args.Shape("query")[2]),
        keys(args.Shape("key")[2]),
        width(args.Shape("query")[3]),
        value_width(args.Shape("value")[3]),
        scale(static_cast<float>(args.Has("scale") ? args.Number("scale")
                                                   : 1.0 / std::sqrt(static_cast<double>(width)))) {}

  /// Query i and key or value j of head h, which is numbered through the batch.
  float Query(int64_t h, int64_t i, int64_t e) const { return query[(h * queries + i) * width + e] * scale; }
  float Key(int64_t h, int64_t j, int64_t e) const { return key[(KeyHead(h) * keys + j) * width + e]; }
  float Value(int64_t h, int64_t j, int64_t v) const { return value[(KeyHead(h) * keys + j) * value_width + v]; }
  int64_t KeyHead(int64_t h) const { return h / heads * key_heads + h % heads / (heads / key_heads); }

  int64_t KeysOf(int64_t i) const { return args.Flag("is_causal") ? std::min(keys, i + 1) : keys; }

  /// An element of a mask that is broadcast.
  float Mask(std::string_view name, const Floats& mask, int64_t h, int64_t i, int64_t j) const {
    const IntList shape = args.Shape(name);
    const int64_t index[] = {h / heads, h % heads, i, j};
    int64_t at = 0;
    for (int dim = 0; dim < shape.size(); ++dim) {
      at = at * shape[dim] + (shape[dim] == 1 ? 0 : index[4 - shape.size() + dim]);
    }
    return mask[at];
  }
  float Dropped(float x, int64_t h, int64_t i, int64_t j) const {
    if (const double p = args.Number("dropout_p"); p > 0.0) {
      const uint64_t number = dropout.Number(static_cast<size_t>((h * queries + i) * keys + j));
      return x * (dropout.Bernoulli(number, 1.0 - p) == 1.0f ? 1.0f / static_cast<float>(1.0 - p) : 0.0f);
    }
    return args.Has("dropout_mask") ? x * Mask("dropout_mask", dropout_mask, h, i, j) : x;
  }

  /// p of query i.
  Floats Probabilities(int64_t h, int64_t i) const {
    const int64_t n = KeysOf(i);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    Floats p(n);
    float largest = -kInfinity;
    bool is_empty = true;
    for (int64_t j = 0; j < n; ++j) {
      Product product(args.TheOrder());
      for (int64_t e = 0; e < width; ++e) product.Add(Query(h, i, e), Key(h, j, e));
      p[j] = product.Result();
      if (args.Has("attn_mask")) p[j] = p[j] + Mask("attn_mask", attn_mask, h, i, j);
      if (p[j] > largest) largest = p[j];
      if (!(p[j] == -kInfinity)) is_empty = false;
    }
    if (is_empty) return Floats(n, 0.0f);
    Sum sum(args.TheOrder());
    for (float& x : p) {
      x = Exp(x - largest);
      sum.Add(x);
    }
    const float total = sum.Result();
    for (float& x : p) x = x / total;
    return p;
  }

  Arguments args;
  Floats query, key, value, attn_mask, dropout_mask;
  PhiloxStream dropout;
  int64_t batch, heads, key_heads, queries, keys, width, value_width;
  float scale;
};

}  // namespace

static Results RunAttention(const Case& test_case) {
  const Attention x(test_case);
  Floats output(Size(x.args.OutputShape()));
  ForEach(x.batch * x.heads * x.queries, [&](int64_t row) {
    const int64_t h = row / x.queries, i = row % x.queries;
    const Floats p = x.Probabilities(h, i);
    for (int64_t v = 0; v < x.value_width; ++v) {
      Product product(x.args.TheOrder());
      for (int64_t j = 0; j < x.KeysOf(i); ++j) product.Add(x.Dropped(p[j], h, i, j), x.Value(h, j, v));
      output[row * x.value_width + v] = product.Result();
    }
  });
  Results results;
  Append(results, output, x.args.OutputShape());
  return results;
}

static Results RunAttentionGrad(const Case& test_case) {
  const Attention x(test_case);
  const Order order = x.args.TheOrder();
  const Floats grad_output = x.args.FloatsOf("grad_output");
  const auto grad = [&](int64_t h, int64_t i, int64_t v) {
    return grad_output[(h * x.queries + i) * x.value_width + v];
  };
  Floats grad_query(x.query.size()), grad_key(x.key.size()), grad_value(x.value.size());
  const int64_t group = x.heads / std::max<int64_t>(x.key_heads, 1);
  ForEach(x.batch * x.key_heads, [&](int64_t key_head) {
    // What each head of the group adds to the gradients by keys and values.
    std::vector<Floats> by_key(group, Floats(x.keys * x.width)), by_value(group, Floats(x.keys * x.value_width));
    for (int64_t g = 0; g < group; ++g) {
      const int64_t h = key_head * group + g;
      std::vector<Floats> d(x.queries), ds(x.queries);  // as long as the query has keys
      for (int64_t i = 0; i < x.queries; ++i) {
        const int64_t n = x.KeysOf(i);
        const Floats p = x.Probabilities(h, i);
        Floats a(n);
        Sum t(order);
        for (int64_t j = 0; j < n; ++j) {
          Product product(order);
          for (int64_t v = 0; v < x.value_width; ++v) product.Add(grad(h, i, v), x.Value(h, j, v));
          a[j] = x.Dropped(product.Result(), h, i, j);
          t.Add(a[j] * p[j]);
        }
        const float sum = t.Result();
        for (int64_t j = 0; j < n; ++j) {
          d[i].push_back(x.Dropped(p[j], h, i, j));
          ds[i].push_back((a[j] - sum) * p[j]);
        }
        for (int64_t e = 0; e < x.width; ++e) {
          Product product(order);
          for (int64_t j = 0; j < n; ++j) product.Add(ds[i][j], x.Key(h, j, e));
          grad_query[(h * x.queries + i) * x.width + e] = product.Result() * x.scale;
        }
      }
      for (int64_t j = 0; j < x.keys; ++j) {
        const auto over_queries = [&](const std::vector<Floats>& factor, auto other) {
          Product product(order);
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
    const auto over_group = [&](const std::vector<Floats>& terms, int64_t size, Floats& result) {
      for (int64_t at = 0; at < size; ++at) {
        Sum sum(order);
        for (const Floats& term : terms) sum.Add(term[at]);
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

static const Op kOps[] = {{"attention", RunAttention}, {"attention_grad", RunAttentionGrad}};

}  // namespace repdl::reference
