// SPDX-License-Identifier: MIT
#include "repdl/ops/segment_reduce.h"

#include <algorithm>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "ops/segment_reduce/segment_reduce_kernel.h"

namespace repdl {
namespace {

SegmentReduction ParseReduction(std::string_view op, std::string_view reduce) {
  constexpr std::string_view kNames[] = {"sum", "mean", "prod", "max", "min"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), reduce);
  REPDL_CHECK(found != std::end(kNames), ArgName{op, "reduce"}, " must be 'sum', 'mean', 'prod', 'max' or 'min', got '",
              reduce, "'");
  return static_cast<SegmentReduction>(found - std::begin(kNames));
}

/// The shape of the results.
IntList Reduced(std::string_view op, const TensorView& input, const TensorView& lengths, int64_t dim) {
  const ArgName name{op, "lengths"};
  CheckFloat({op, "input"}, input, input);
  const int at = CheckDim({op, "dim"}, dim, input.rank());
  CheckDType(name, lengths, DType::kInt64);
  CheckSameDevice(name, lengths, input);
  REPDL_CHECK(
      lengths.rank() == at + 1 && std::equal(input.shape.begin(), input.shape.begin() + at, lengths.shape.begin()),
      name, " of shape ", Name(lengths.shape), " must have the dimensions before dimension ", at, " of input, ",
      Name(input.shape), ", and one for the segments");
  IntList shape = input.shape;
  shape[at] = lengths.shape[at];
  return shape;
}

template <class T>
SegmentArgs<T> ArgsOf(std::string_view op, const TensorView& input, const TensorView& lengths, std::string_view reduce,
                      std::optional<double> initial, int64_t dim, OpScratch& scratch) {
  SegmentArgs<T> args{};
  const int at = CheckDim({op, "dim"}, dim, input.rank());
  args.planes = args.inner = 1;
  for (int i = 0; i < at; ++i) args.planes *= input.shape[i];
  for (int i = at + 1; i < input.rank(); ++i) args.inner *= input.shape[i];
  args.length = input.shape[at], args.segments = lengths.shape[at];
  args.reduction = ParseReduction(op, reduce);
  args.has_initial = initial.has_value();
  args.initial = static_cast<T>(initial.value_or(0));
  args.lengths = Contiguous(lengths, scratch).template Data<const int64_t>();
  args.offsets = scratch.Get<int64_t>(args.planes * (args.segments + 1));
  args.input = Contiguous(input, scratch).template Data<const T>();
  if (!scratch.place().IsCpu()) return args;  // the kernels look at the lengths
  const int64_t* given = args.lengths;
  int64_t* offsets = args.offsets;
  for (int64_t plane = 0; plane < args.planes; ++plane) {
    int64_t sum = *offsets++ = 0;
    for (int64_t k = 0; k < args.segments; ++k, ++given) {
      REPDL_CHECK(*given >= 0 && *given <= args.length - sum, ArgName{op, "lengths"},
                  " must be at least 0, and their sum at most the size of the dimension, ", args.length, "; got ",
                  *given, " after ", sum, " elements");
      *offsets++ = sum += *given;
    }
  }
  return args;
}

}  // namespace

Specs InferSegmentReduce(const TensorView& input, const TensorView& lengths, std::string_view reduce,
                         std::optional<double>, int64_t dim) {
  ParseReduction("segment_reduce", reduce);
  return {{input.dtype, Reduced("segment_reduce", input, lengths, dim)}};
}

void SegmentReduce(const TensorView& input, const TensorView& lengths, std::string_view reduce,
                   std::optional<double> initial, int64_t dim, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("segment_reduce", InferSegmentReduce(input, lengths, reduce, initial, dim), {&output}, input);
  const Place place = PlaceOf("segment_reduce", input);
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    SegmentArgs<T> args = ArgsOf<T>("segment_reduce", input, lengths, reduce, initial, dim, scratch);
    args.output = output.Data<T>();
    if (output.numel() > 0) SegmentReduceKernel(place, args);
  });
}

Specs InferSegmentReduceGrad(const TensorView& grad_output, const TensorView& output, const TensorView& input,
                             const TensorView& lengths, std::string_view reduce, std::optional<double>, int64_t dim) {
  constexpr std::string_view kOp = "segment_reduce_grad";
  ParseReduction(kOp, reduce);
  const IntList shape = Reduced(kOp, input, lengths, dim);
  CheckFloat({kOp, "grad_output"}, grad_output, shape, input);
  CheckFloat({kOp, "output"}, output, shape, input);
  return {{input.dtype, input.shape}};
}

void SegmentReduceGrad(const TensorView& grad_output, const TensorView& output, const TensorView& input,
                       const TensorView& lengths, std::string_view reduce, std::optional<double> initial, int64_t dim,
                       Out grad_input) {
  const FpEnvGuard guard;
  CheckOutputs("segment_reduce_grad", InferSegmentReduceGrad(grad_output, output, input, lengths, reduce, initial, dim),
               {&grad_input}, input);
  const Place place = PlaceOf("segment_reduce_grad", input);
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    SegmentArgs<T> args = ArgsOf<T>("segment_reduce_grad", input, lengths, reduce, initial, dim, scratch);
    args.grad_output = Contiguous(grad_output, scratch).Data<const T>();
    args.output = Contiguous(output, scratch).Data<T>();
    args.grad_input = grad_input.Data<T>();
    if (grad_input.numel() > 0) SegmentReduceGradKernel(place, args);
  });
}

}  // namespace repdl

REPDL_OPS(segment_reduce,
          MakeOp<InferSegmentReduce, SegmentReduce, SegmentReduceKernel>(
              "segment_reduce", "input, lengths, reduce='sum', initial=None, dim=0", kFloat32Or64),
          MakeOp<InferSegmentReduceGrad, SegmentReduceGrad, SegmentReduceGradKernel>(
              "segment_reduce_grad", "grad_output, output, input, lengths, reduce='sum', initial=None, dim=0",
              kFloat32Or64))
