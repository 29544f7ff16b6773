// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "repdl/op.h"
#include "repdl/order.h"

/*! attention
Scaled dot-product attention of `query` (B, H, L, E), `key` (B, G, S, E) and `value` (B, G, S, V). Head h reads K and V of
key head h / (H / G). Query i has n keys: all S, or with `is_causal` the first min(S, i + 1). The others do not exist for
it: neither a NaN in them nor their number shows. `scale` is float32(1 / sqrt(E)), in double, if it is not given. For every
query:

    q[e]         = query[i, e] * scale
    s[j]         = Product(q[e], K[j, e]) + attn_mask[i, j]          over e
    p            = softmax(s[0], …, s[n - 1]), or +0 if all of them are -inf
    d[j]         = p[j] * dropout_mask[i, j]
    output[i, e] = Product(d[j], V[j, e])                            over j < n

The masks are broadcast to (B, H, L, S); without one, its operation is left out. With a `dropout_p` above 0, dropout_mask
at (b, h, i, j) is 1 / float32(1 - dropout_p) where element `offset` + ((b H + h) L + i) S + j of philox_bernoulli (`seed`,
`call`, p = 1 - dropout_p) is 1, and +0 where it is 0. A key with a mask of -inf is not absent: its p is +0, and meets V by
the rule of Product. So finite V that is masked at the end of a row can show in the sign of a zero at most.
*/

/*! attention_grad
The gradients of attention by query, key and value, from g = `grad_output`; q, p and d as there. For every query i of every
head:

    a[j]             = Product(g[i, v], V[j, v]) * dropout_mask[i, j]   over v; without a dropout_mask, the product alone
    t                = Sum(a[j] * p[j])                                 over j < n
    ds[j]            = (a[j] - t) * p[j]
    grad_query[i, e] = Product(ds[j], K[j, e]) * scale                  over j < n

For key j of a key head, the terms of the queries i that do not have it being absent:

    grad_key[j, e]   = Sum over the heads of Product(ds[i, j], q[i, e]) over i
    grad_value[j, v] = Sum over the heads of Product(d[i, j], g[i, v])  over i

The Sum is that over the H / G heads that share the key head, in ascending order.
*/

namespace repdl {

/// query (B, H, L, E), key (B, G, S, E), value (B, G, S, V), G a divisor of H; masks (…) that broadcast to (B, H, L, S);
/// dropout_p in [0, 1], above 0 only without a dropout_mask; output (B, H, L, V).
Specs InferAttention(const TensorView& query, const TensorView& key, const TensorView& value,
                     const std::optional<TensorView>& attn_mask, const std::optional<TensorView>& dropout_mask,
                     bool is_causal, std::optional<double> scale, double dropout_p, int64_t seed, int64_t call,
                     int64_t offset, Order order);
void Attention(const TensorView& query, const TensorView& key, const TensorView& value,
               const std::optional<TensorView>& attn_mask, const std::optional<TensorView>& dropout_mask,
               bool is_causal, std::optional<double> scale, double dropout_p, int64_t seed, int64_t call,
               int64_t offset, Order order, Out output);

/// grad_output (B, H, L, V); the gradients have the shapes of query, key and value.
Specs InferAttentionGrad(const TensorView& grad_output, const TensorView& query, const TensorView& key,
                         const TensorView& value, const std::optional<TensorView>& attn_mask,
                         const std::optional<TensorView>& dropout_mask, bool is_causal, std::optional<double> scale,
                         double dropout_p, int64_t seed, int64_t call, int64_t offset, Order order);
void AttentionGrad(const TensorView& grad_output, const TensorView& query, const TensorView& key,
                   const TensorView& value, const std::optional<TensorView>& attn_mask,
                   const std::optional<TensorView>& dropout_mask, bool is_causal, std::optional<double> scale,
                   double dropout_p, int64_t seed, int64_t call, int64_t offset, Order order, Out grad_query,
                   Out grad_key, Out grad_value);

}  // namespace repdl
