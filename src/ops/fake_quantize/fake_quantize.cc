// SPDX-License-Identifier: MIT
#include "repdl/ops/fake_quantize.h"

#include "base/broadcast.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "ops/fake_quantize/fake_quantize_kernel.h"

namespace repdl {
namespace {

constexpr const char* kFake = "fake_quantize";
constexpr const char* kGrad = "fake_quantize_grad";
constexpr const char* kQuantize = "quantize";

void CheckEnds(std::string_view op, int64_t low, int64_t high) {
  REPDL_CHECK(low <= high, ArgName{op, "low"}, " must not be above high, got ", low, " and ", high);
}

}  // namespace

Specs InferFakeQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                        int64_t high, bool) {
  CheckEnds(kFake, low, high);
  const IntList shape =
      BroadcastSpec({{{kFake, "input"}, input}, {{kFake, "scale"}, scale}, {{kFake, "zero_point"}, zero_point}}).shape;
  return {{input.dtype, shape}, {DType::kBool, shape}};
}

void FakeQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                  int64_t high, bool zero_first, Out output, Out mask) {
  const FpEnvGuard guard;
  CheckOutputs(kFake, InferFakeQuantize(input, scale, zero_point, low, high, zero_first), {&output, &mask}, input);
  const Place place = PlaceOf(kFake, input);
  if (output.numel() == 0) return;
  FakeQuantizeKernel(place, {MakeMapArgs({&input, &scale, &zero_point}, output), low, high, zero_first,
                             static_cast<bool*>(mask.data)});
}

Specs InferFakeQuantizeGrad(const TensorView& grad_output, const TensorView& input, const TensorView& scale,
                            const TensorView& zero_point, int64_t low, int64_t high, double) {
  CheckEnds(kGrad, low, high);
  const TensorSpec spec = BroadcastSpec({{{kGrad, "grad_output"}, grad_output},
                                         {{kGrad, "input"}, input},
                                         {{kGrad, "scale"}, scale},
                                         {{kGrad, "zero_point"}, zero_point}});
  return {spec, spec, spec};
}

void FakeQuantizeGrad(const TensorView& grad_output, const TensorView& input, const TensorView& scale,
                      const TensorView& zero_point, int64_t low, int64_t high, double factor, Out grad_input,
                      Out grad_scale, Out grad_zero_point) {
  const FpEnvGuard guard;
  CheckOutputs(kGrad, InferFakeQuantizeGrad(grad_output, input, scale, zero_point, low, high, factor),
               {&grad_input, &grad_scale, &grad_zero_point}, grad_output);
  const Place place = PlaceOf(kGrad, grad_output);
  if (grad_input.numel() == 0) return;
  FakeQuantizeGradKernel(place, {MakeMapArgs({&grad_output, &input, &scale, &zero_point}, grad_input), low, high,
                                 factor, grad_scale.data, grad_zero_point.data});
}

Specs InferQuantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low,
                    int64_t high) {
  CheckEnds(kQuantize, low, high);
  return {BroadcastSpec(
      {{{kQuantize, "input"}, input}, {{kQuantize, "scale"}, scale}, {{kQuantize, "zero_point"}, zero_point}})};
}

void Quantize(const TensorView& input, const TensorView& scale, const TensorView& zero_point, int64_t low, int64_t high,
              Out output) {
  const FpEnvGuard guard;
  CheckOutputs(kQuantize, InferQuantize(input, scale, zero_point, low, high), {&output}, input);
  const Place place = PlaceOf(kQuantize, input);
  if (output.numel() > 0) QuantizeKernel(place, {MakeMapArgs({&input, &scale, &zero_point}, output), low, high});
}

}  // namespace repdl

REPDL_OPS(fake_quantize,
          MakeOp<InferFakeQuantize, FakeQuantize, FakeQuantizeKernel>(
              "fake_quantize", "input, scale, zero_point, low, high, zero_first=False", kUpToFloat64),
          MakeOp<InferFakeQuantizeGrad, FakeQuantizeGrad, FakeQuantizeGradKernel>(
              "fake_quantize_grad", "grad_output, input, scale, zero_point, low, high, factor=1.0", kFloat32Or64),
          MakeOp<InferQuantize, Quantize, QuantizeKernel>("quantize", "input, scale, zero_point, low, high",
                                                          kFloat32Or64))
