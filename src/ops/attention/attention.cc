// SPDX-License-Identifier: MIT
#include "repdl/ops/attention.h"

#include <cmath>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/attention/attention_kernel.h"

namespace repdl {
namespace {

void CheckMask(const ArgName& name, const TensorView& mask, const TensorView& query, const IntList& scores) {
  if (mask.dtype == DType::kBool) {
    throw TypeError(Message(name, " must be ", Name(query.dtype), ", got bool; give numbers to ",
                            name.arg == "attn_mask" ? "add, 0 where it is True and -inf where it is False"
                                                    : "multiply by, 0 where a probability is dropped"));
  }
  CheckFloat(name, mask, query);
  bool fits = mask.rank() <= 4;
  for (int dim = 1; fits && dim <= mask.rank(); ++dim) {
    const int64_t size = mask.shape[mask.rank() - dim];
    fits = size == 1 || size == scores[4 - dim];
  }
  REPDL_CHECK(fits, name, " of shape ", Name(mask.shape), " does not broadcast to the scores, ", Name(scores));
}

/// Dropout whose mask is drawn, as the arguments say.
struct Dropout {
  double p;
  int64_t seed, call, offset;
};

/// What both ops take.
struct Operands {
  std::string_view op;
  const TensorView &query, &key, &value;
  const std::optional<TensorView>&attn_mask, &dropout_mask;
  Dropout dropout;

  void Check() const {
    const ArgName k{op, "key"}, v{op, "value"};
    CheckFloat({op, "query"}, query, query);
    CheckFloat(k, key, query);
    CheckFloat(v, value, query);
    CheckRank({op, "query"}, query, 4, 4, "(B, H, L, E)");
    CheckRank(k, key, 4, 4, "(B, G, S, E)");
    CheckRank(v, value, 4, 4, "(B, G, S, V)");
    REPDL_CHECK(key.shape[0] == query.shape[0], k, " of shape ", Name(key.shape), " must have the batch of query, ",
                Name(query.shape), "; use expand()");
    const int64_t heads = query.shape[1], key_heads = key.shape[1];
    REPDL_CHECK(key_heads == 0 ? heads == 0 : heads % key_heads == 0, k, " of shape ", Name(key.shape), " has ",
                key_heads, " heads, which do not divide the ", heads, " heads of query");
    REPDL_CHECK(key.shape[3] == query.shape[3], k, " of shape ", Name(key.shape),
                " must end in the size in which query ends, ", Name(query.shape));
    for (int dim = 0; dim < 3; ++dim) {
      REPDL_CHECK(value.shape[dim] == key.shape[dim], v, " of shape ", Name(value.shape),
                  " must have the batch, heads and length of key, ", Name(key.shape));
    }
    if (attn_mask) CheckMask({op, "attn_mask"}, *attn_mask, query, Scores());
    if (dropout_mask) CheckMask({op, "dropout_mask"}, *dropout_mask, query, Scores());
    const ArgName p{op, "dropout_p"};
    REPDL_CHECK(dropout.p >= 0.0 && dropout.p <= 1.0, p, " must be between 0 and 1, got ", dropout.p);
    REPDL_CHECK(dropout.p == 0.0 || !dropout_mask, p, " draws a mask; give it or a dropout_mask, not both");
    if (dropout.p > 0.0) {
      const IntList scores = Scores();
      REPDL_CHECK(IsCountable(query.dtype, scores), p, " cannot number the elements of scores ", Name(scores));
      CheckPhiloxOffset(op, dropout.offset, scores[0] * scores[1] * scores[2] * scores[3]);
    }
  }
  IntList Scores() const { return {query.shape[0], query.shape[1], query.shape[2], key.shape[2]}; }
  IntList Output() const { return {query.shape[0], query.shape[1], query.shape[2], value.shape[3]}; }
};

template <class T>
HeadMatrices<T> HeadsOf(const std::optional<TensorView>& tensor) {
  // A tensor without elements may lie nowhere: do not step through it.
  if (!tensor || tensor->numel() == 0) return {};
  HeadMatrices<T> heads{.data = tensor->Data<const T>()};
  int64_t* const strides[] = {&heads.col_stride, &heads.row_stride, &heads.head_stride, &heads.batch_stride};
  for (int dim = 1; dim <= tensor->rank(); ++dim) {
    const int at = tensor->rank() - dim;
    *strides[dim - 1] = tensor->shape[at] == 1 ? 0 : tensor->strides[at];
  }
  return heads;
}

template <class T>
AttentionArgs<T> MakeArgs(const Operands& x, bool is_causal, std::optional<double> scale, Order order) {
  AttentionArgs<T> args{};
  args.batch = x.query.shape[0], args.heads = x.query.shape[1], args.key_heads = x.key.shape[1];
  args.queries = x.query.shape[2], args.keys = x.key.shape[2];
  args.width = x.query.shape[3], args.value_width = x.value.shape[3];
  args.query = HeadsOf<T>(x.query), args.key = HeadsOf<T>(x.key), args.value = HeadsOf<T>(x.value);
  args.attn_mask = HeadsOf<T>(x.attn_mask), args.dropout_mask = HeadsOf<T>(x.dropout_mask);
  args.scale = static_cast<T>(scale ? *scale : 1.0 / std::sqrt(static_cast<double>(args.width)));
  if (const Dropout& dropout = x.dropout; dropout.p > 0.0) {
    const double kept = 1.0 - dropout.p;
    args.dropout = {PhiloxStream(dropout.seed, dropout.call, dropout.offset), MakePhiloxBernoulliConstants(kept),
                    kept > 0.0 ? T{1} / static_cast<T>(kept) : T{0}};
  }
  args.is_causal = is_causal;
  args.order = order;
  return args;
}

}  // namespace

Specs InferAttention(const TensorView& query, const TensorView& key, const TensorView& value,
                     const std::optional<TensorView>& attn_mask, const std::optional<TensorView>& dropout_mask, bool,
                     std::optional<double>, double dropout_p, int64_t seed, int64_t call, int64_t offset, Order) {
  const Operands x{"attention", query, key, value, attn_mask, dropout_mask, {dropout_p, seed, call, offset}};
  x.Check();
  return {{query.dtype, x.Output()}};
}

void Attention(const TensorView& query, const TensorView& key, const TensorView& value,
               const std::optional<TensorView>& attn_mask, const std::optional<TensorView>& dropout_mask,
               bool is_causal, std::optional<double> scale, double dropout_p, int64_t seed, int64_t call,
               int64_t offset, Order order, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("attention",
               InferAttention(query, key, value, attn_mask, dropout_mask, is_causal, scale, dropout_p, seed, call,
                              offset, order),
               {&output}, query);
  const Place place = PlaceOf("attention", query);
  if (output.numel() == 0) return;
  const Operands operands{"attention", query, key, value, attn_mask, dropout_mask, {dropout_p, seed, call, offset}};
  DispatchReal(query.dtype, [&]<class T>() {
    AttentionArgs<T> args = MakeArgs<T>(operands, is_causal, scale, order);
    args.output = output.Data<T>();
    AttentionKernel(place, args);
  });
}

Specs InferAttentionGrad(const TensorView& grad_output, const TensorView& query, const TensorView& key,
                         const TensorView& value, const std::optional<TensorView>& attn_mask,
                         const std::optional<TensorView>& dropout_mask, bool, std::optional<double>, double dropout_p,
                         int64_t seed, int64_t call, int64_t offset, Order) {
  const Operands x{"attention_grad", query, key, value, attn_mask, dropout_mask, {dropout_p, seed, call, offset}};
  x.Check();
  CheckFloat({x.op, "grad_output"}, grad_output, query);
  CheckShape({x.op, "grad_output"}, grad_output, x.Output());
  return {{query.dtype, query.shape}, {query.dtype, key.shape}, {query.dtype, value.shape}};
}

void AttentionGrad(const TensorView& grad_output, const TensorView& query, const TensorView& key,
                   const TensorView& value, const std::optional<TensorView>& attn_mask,
                   const std::optional<TensorView>& dropout_mask, bool is_causal, std::optional<double> scale,
                   double dropout_p, int64_t seed, int64_t call, int64_t offset, Order order, Out grad_query,
                   Out grad_key, Out grad_value) {
  const FpEnvGuard guard;
  CheckOutputs("attention_grad",
               InferAttentionGrad(grad_output, query, key, value, attn_mask, dropout_mask, is_causal, scale, dropout_p,
                                  seed, call, offset, order),
               {&grad_query, &grad_key, &grad_value}, query);
  const Place place = PlaceOf("attention_grad", query);
  if (grad_query.numel() == 0 && grad_key.numel() == 0 && grad_value.numel() == 0) return;
  const Operands operands{
      "attention_grad", query, key, value, attn_mask, dropout_mask, {dropout_p, seed, call, offset}};
  DispatchReal(query.dtype, [&]<class T>() {
    AttentionArgs<T> args = MakeArgs<T>(operands, is_causal, scale, order);
    args.grad_output = HeadsOf<T>(grad_output);
    args.grad_query = grad_query.Data<T>();
    args.grad_key = grad_key.Data<T>();
    args.grad_value = grad_value.Data<T>();
    AttentionGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(attention,
          MakeOp<InferAttention, Attention, AttentionKernel>(
              "attention",
              "query, key, value, attn_mask=None, dropout_mask=None, is_causal=False, scale=None, "
              "dropout_p=0.0, seed=0, call=0, offset=0, order='blocked'",
              kFloat32Or64),
          MakeOp<InferAttentionGrad, AttentionGrad, AttentionGradKernel>(
              "attention_grad",
              "grad_output, query, key, value, attn_mask=None, dropout_mask=None, is_causal=False, "
              "scale=None, dropout_p=0.0, seed=0, call=0, offset=0, order='blocked'",
              kFloat32Or64))
