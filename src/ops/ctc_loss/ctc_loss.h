// SPDX-License-Identifier: MIT
#pragma once

#include "repdl/op.h"

/*! ctc_loss
Connectionist temporal classification: minus the logarithm of the probability of all alignments of a sequence's labels. With
l labels there are 2l + 1 places s, at which a blank, a label, a blank and so on stand: c(s). A sequence of T steps has, for
t = 0, 1, …, each step rounded,

- `alpha[0, s] = log_probs[0, c(s)]` at the first two places, -inf at the others
- `alpha[t, s] = log_probs[t, c(s)] + LogSum(alpha[t-1, s], alpha[t-1, s-1], alpha[t-1, s-2])`, where alpha is -inf at a
  place before the first, and the third is -inf unless c(s) and c(s-2) differ
- `loss = -LogSum(alpha[T-1, 2l], alpha[T-1, 2l-1], -inf)`; of no steps, +0 without labels and else inf.

`LogSum(x, y, z) = m + log1p(e(p - m) + e(q - m))`: m is the maximum of the three, NaN if one of them is, and p and q are the
two others; where m is infinite, it is m. e(x) is exp(x), but +0 for an x below -87, or -700 in float64. `log_alpha` is -inf at
the places and steps that a sequence does not have, whose numbers are not read.
*/

/*! ctc_loss_grad
The gradient of `ctc_loss` by log_probs. From the last step to the first,

- `later[T-1, s]` is +0 at the last two places, -inf at the others
- `later[t, s] = LogSum(beta[t+1, s], beta[t+1, s+1], beta[t+1, s+2])`, where beta is -inf at a place behind the last, and
  the third is -inf unless c(s) and c(s+2) differ
- `beta[t, s] = log_probs[t, c(s)] + later[t, s]`, but -inf at all but the last two places of the last step.

The share of a class begins with e(loss - inf), to which the `e((log_alpha[t, s] + later[t, s]) + loss)` of its places are
added in their order. The gradient is `-share · grad_output`; with `by_scores` it is `(exp(log_probs) - share) · grad_output`,
the gradient by scores whose log-softmax log_probs are. It is +0 at steps that a sequence does not have, and with
`zero_infinity` where the loss is inf.
*/

namespace repdl {

/// log_probs (t, n, c), targets (n, s) int64, input_lengths and target_lengths (n) int64; loss (n), log_alpha
/// (n, t, 2s + 1).
Specs InferCtcLoss(const TensorView& log_probs, const TensorView& targets, const TensorView& input_lengths,
                   const TensorView& target_lengths, int64_t blank);
void CtcLoss(const TensorView& log_probs, const TensorView& targets, const TensorView& input_lengths,
             const TensorView& target_lengths, int64_t blank, Out loss, Out log_alpha);

/// loss and log_alpha: what CtcLoss gave; grad_output has the shape of the loss.
Specs InferCtcLossGrad(const TensorView& grad_output, const TensorView& log_probs, const TensorView& targets,
                       const TensorView& input_lengths, const TensorView& target_lengths, const TensorView& loss,
                       const TensorView& log_alpha, int64_t blank, bool zero_infinity, bool by_scores);
void CtcLossGrad(const TensorView& grad_output, const TensorView& log_probs, const TensorView& targets,
                 const TensorView& input_lengths, const TensorView& target_lengths, const TensorView& loss,
                 const TensorView& log_alpha, int64_t blank, bool zero_infinity, bool by_scores, Out grad_log_probs);

}  // namespace repdl
