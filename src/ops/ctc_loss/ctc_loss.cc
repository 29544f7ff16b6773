// SPDX-License-Identifier: MIT
#include "repdl/ops/ctc_loss.h"

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/ctc_loss/ctc_loss_kernel.h"

namespace repdl {
namespace {

/// What an op of this file reads first.
struct Alignments {
  std::string_view op;
  const TensorView &log_probs, &targets, &input_lengths, &target_lengths;
  int64_t blank;

  int64_t steps() const { return log_probs.shape[0]; }
  int64_t batch() const { return log_probs.shape[1]; }
  int64_t classes() const { return log_probs.shape[2]; }
  int64_t labels() const { return targets.shape[1]; }
  IntList LossShape() const { return {batch()}; }
  IntList AlphaShape() const { return {batch(), steps(), 2 * labels() + 1}; }
};

void CheckLengths(const ArgName& name, const TensorView& lengths, const Alignments& of) {
  CheckDType(name, lengths, DType::kInt64);
  CheckSameDevice(name, lengths, of.log_probs);
  CheckShape(name, lengths, {of.batch()});
}

void Check(const Alignments& of) {
  CheckFloat({of.op, "log_probs"}, of.log_probs, of.log_probs);
  CheckRank({of.op, "log_probs"}, of.log_probs, 3, 3, "(t, n, c)");
  const ArgName targets{of.op, "targets"};
  CheckDType(targets, of.targets, DType::kInt64);
  CheckSameDevice(targets, of.targets, of.log_probs);
  CheckRank(targets, of.targets, 2, 2, "(n, s)");
  CheckShape(targets, of.targets, {of.batch(), of.labels()});
  REPDL_CHECK(of.labels() < INT32_MAX, targets, " of shape ", Name(of.targets.shape),
              " must have less than 2^31 - 1 labels a sequence");
  CheckLengths({of.op, "input_lengths"}, of.input_lengths, of);
  CheckLengths({of.op, "target_lengths"}, of.target_lengths, of);
  REPDL_CHECK(of.blank >= 0 && of.blank < of.classes(), ArgName{of.op, "blank"}, " must be a class, in [0, ",
              of.classes(), "), got ", of.blank);
}

/// The lengths side by side; ValueError unless all are in [0, most]. On a device the kernels look at them.
const int64_t* CheckedLengths(const ArgName& name, const TensorView& lengths, int64_t most, std::string_view what,
                              OpScratch& scratch) {
  const auto* const data = Contiguous(lengths, scratch).Data<const int64_t>();
  for (int64_t i = 0; scratch.place().IsCpu() && i < lengths.numel(); ++i) {
    REPDL_CHECK(data[i] >= 0 && data[i] <= most, name, " holds ", data[i], ", which is not in [0, ", most, "], the ",
                what);
  }
  return data;
}

/// The arguments that loss and gradient share.
template <class T>
CtcLossArgs<T> MakeArgs(const Alignments& of, OpScratch& scratch) {
  CtcLossArgs<T> args{};
  args.steps = of.steps(), args.batch = of.batch(), args.classes = of.classes(), args.labels = of.labels();
  args.blank = of.blank;
  const TensorView log_probs =
      of.classes() == 1 || of.log_probs.strides[2] == 1 ? of.log_probs : Contiguous(of.log_probs, scratch);
  args.log_probs = log_probs.Data<const T>();
  args.step_stride = log_probs.strides[0], args.batch_stride = log_probs.strides[1];
  args.targets = Contiguous(of.targets, scratch).Data<const int64_t>();
  args.input_lengths =
      CheckedLengths({of.op, "input_lengths"}, of.input_lengths, of.steps(), "steps of log_probs", scratch);
  args.target_lengths = CheckedLengths({of.op, "target_lengths"}, of.target_lengths, of.labels(),
                                       "labels that targets have for a sequence", scratch);
  for (int64_t b = 0; scratch.place().IsCpu() && b < args.batch; ++b) {
    for (int64_t i = 0; i < args.target_lengths[b]; ++i) {
      const int64_t label = args.targets[b * args.labels + i];
      REPDL_CHECK(label >= 0 && label < args.classes, ArgName{of.op, "targets"}, " holds the label ", label,
                  ", which is not in [0, ", args.classes, ")");
    }
  }
  return args;
}

}  // namespace

Specs InferCtcLoss(const TensorView& log_probs, const TensorView& targets, const TensorView& input_lengths,
                   const TensorView& target_lengths, int64_t blank) {
  const Alignments of{"ctc_loss", log_probs, targets, input_lengths, target_lengths, blank};
  Check(of);
  return {{log_probs.dtype, of.LossShape()}, {log_probs.dtype, of.AlphaShape()}};
}

void CtcLoss(const TensorView& log_probs, const TensorView& targets, const TensorView& input_lengths,
             const TensorView& target_lengths, int64_t blank, Out loss, Out log_alpha) {
  const FpEnvGuard guard;
  const Alignments of{"ctc_loss", log_probs, targets, input_lengths, target_lengths, blank};
  CheckOutputs(of.op, InferCtcLoss(log_probs, targets, input_lengths, target_lengths, blank), {&loss, &log_alpha},
               log_probs);
  const Place place = PlaceOf(of.op, log_probs);
  DispatchReal(log_probs.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CtcLossArgs<T> args = MakeArgs<T>(of, scratch);
    args.loss = loss.Data<T>(), args.log_alpha = log_alpha.Data<T>();
    if (args.batch > 0) CtcLossKernel(place, args);
  });
}

Specs InferCtcLossGrad(const TensorView& grad_output, const TensorView& log_probs, const TensorView& targets,
                       const TensorView& input_lengths, const TensorView& target_lengths, const TensorView& loss,
                       const TensorView& log_alpha, int64_t blank, bool /*zero_infinity*/, bool /*by_scores*/) {
  const Alignments of{"ctc_loss_grad", log_probs, targets, input_lengths, target_lengths, blank};
  Check(of);
  CheckFloat({of.op, "grad_output"}, grad_output, log_probs);
  CheckShape({of.op, "grad_output"}, grad_output, of.LossShape());
  CheckFloat({of.op, "loss"}, loss, log_probs);
  CheckShape({of.op, "loss"}, loss, of.LossShape());
  CheckFloat({of.op, "log_alpha"}, log_alpha, log_probs);
  CheckShape({of.op, "log_alpha"}, log_alpha, of.AlphaShape());
  return {{log_probs.dtype, log_probs.shape}};
}

void CtcLossGrad(const TensorView& grad_output, const TensorView& log_probs, const TensorView& targets,
                 const TensorView& input_lengths, const TensorView& target_lengths, const TensorView& loss,
                 const TensorView& log_alpha, int64_t blank, bool zero_infinity, bool by_scores, Out grad_log_probs) {
  const FpEnvGuard guard;
  const Alignments of{"ctc_loss_grad", log_probs, targets, input_lengths, target_lengths, blank};
  CheckOutputs(of.op,
               InferCtcLossGrad(grad_output, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank,
                                zero_infinity, by_scores),
               {&grad_log_probs}, log_probs);
  const Place place = PlaceOf(of.op, log_probs);
  DispatchReal(log_probs.dtype, [&]<class T>() {
    OpScratch scratch(place);
    CtcLossArgs<T> args = MakeArgs<T>(of, scratch);
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.found_loss = Contiguous(loss, scratch).Data<const T>();
    args.found_log_alpha = Contiguous(log_alpha, scratch).Data<const T>();
    args.zero_infinity = zero_infinity, args.by_scores = by_scores;
    args.grad = grad_log_probs.Data<T>();
    if (grad_log_probs.numel() > 0) CtcLossGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(ctc_loss,
          MakeOp<InferCtcLoss, CtcLoss, CtcLossKernel>("ctc_loss",
                                                       "log_probs, targets, input_lengths, target_lengths, blank=0",
                                                       kFloat32Or64),
          MakeOp<InferCtcLossGrad, CtcLossGrad, CtcLossGradKernel>(
              "ctc_loss_grad",
              "grad_output, log_probs, targets, input_lengths, target_lengths, loss, log_alpha, blank=0, "
              "zero_infinity=False, by_scores=False",
              kFloat32Or64))
