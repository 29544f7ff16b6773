// SPDX-License-Identifier: MIT
#include "repdl/ops/fft.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"
#include "base/dispatch.h"
#include "base/fp_env.h"
#include "base/op_registry.h"
#include "base/op_scratch.h"
#include "drivers/contiguous.h"
#include "numerics/lanes/scalar.h"
#include "ops/fft/fft_kernel.h"

namespace repdl {
namespace {

/// A shape of complex numbers, and the dimensions to transform, from 0 on.
struct Call {
  IntList shape, dims;

  int last() const { return static_cast<int>(dims[dims.size() - 1]); }
};

Call Check(std::string_view op, const TensorView& input, bool is_complex, const IntList& dim, int64_t normalization) {
  const ArgName name{op, "input"}, dim_name{op, "dim"};
  CheckFloat(name, input, input);
  const int rank = input.rank() - (is_complex ? 1 : 0);
  REPDL_CHECK(!is_complex || (rank >= 0 && input.shape[rank] == 2), name, " of shape ", Name(input.shape),
              " must have a last dimension of size 2, for real and imaginary parts; use torch.view_as_real()");
  REPDL_CHECK(normalization >= 0 && normalization <= 2, ArgName{op, "normalization"},
              " must be 0 (none), 1 (by the root of the number of terms) or 2 (by their number), got ", normalization);
  Call call;
  for (int i = 0; i < rank; ++i) call.shape.Append(input.shape[i]);
  for (const int64_t d : dim) {
    const int at = CheckDim(dim_name, d, rank);
    REPDL_CHECK(std::find(call.dims.begin(), call.dims.end(), at) == call.dims.end(), dim_name, " ", Name(dim),
                " names a dimension twice");
    REPDL_CHECK(call.shape[at] >= 1, name, " of shape ", Name(input.shape),
                " has no numbers to transform in dimension ", at);
    REPDL_CHECK(call.shape[at] <= kMaxFftLength, name, " of shape ", Name(input.shape),
                " has too many numbers to transform in dimension ", at);
    call.dims.Append(at);
  }
  return call;
}

Call CheckSome(std::string_view op, const TensorView& input, bool is_complex, const IntList& dim,
               int64_t normalization) {
  REPDL_CHECK(dim.size() > 0, ArgName{op, "dim"}, " must name a dimension");
  return Check(op, input, is_complex, dim, normalization);
}

Call CheckC2r(const TensorView& input, const IntList& dim, int64_t normalization, int64_t last_dim_size) {
  const Call call = CheckSome("fft_c2r", input, true, dim, normalization);
  const int64_t size = call.shape[call.last()];
  REPDL_CHECK(last_dim_size >= 1 && size == last_dim_size / 2 + 1, ArgName{"fft_c2r", "last_dim_size"}, " ",
              last_dim_size, " real numbers come from ", last_dim_size < 0 ? 0 : last_dim_size / 2 + 1,
              " complex ones, but input has ", size);
  return call;
}

IntList WithPairs(IntList shape) {
  REPDL_CHECK(shape.size() < kMaxRank, "[fft_r2c] input has too many dimensions; flatten some of the batch");
  shape.Append(2);
  return shape;
}

/// By what the results of transforms of these lengths are divided.
template <class T>
T Divisor(const IntList& shape, const IntList& dims, int64_t normalization) {
  double n = 1;
  for (const int64_t d : dims) n *= static_cast<double>(shape[d]);
  return static_cast<T>(normalization == 0 ? 1.0 : normalization == 1 ? scalar::Sqrt(n) : n);
}

/// The transform along one dimension of a tensor into another one. Tensors of complex numbers have one more.
template <class T>
void TransformDim(const Place& place, FftKind kind, bool inverse, int64_t n, int dim, const TensorView& in,
                  const TensorView& out, int rank, T divisor) {
  const bool pairs = kind == FftKind::kFromPairs || kind == FftKind::kToPairs;
  const auto plan = FftPlanOf<T>(n, pairs);
  FftArgs<T> args{};
  args.table = plan->complex;
  args.untangling = plan->untangling;
  args.kind = kind;
  args.inverse = inverse;
  const auto row_of = [&](const TensorView& tensor, bool real) -> FftRow<T> {
    T* const data = tensor.Data<T>();
    const int64_t step = tensor.strides[dim];
    if (!real) return {data, data + tensor.strides[rank], step};
    if (pairs) return {data, data + step, 2 * step};
    return {data, nullptr, step};
  };
  const FftRow<T> from = row_of(in, kind == FftKind::kFromReal || kind == FftKind::kFromPairs);
  args.in = {from.real, from.imaginary, from.step};
  args.out = row_of(out, kind == FftKind::kToReal || kind == FftKind::kToPairs);
  // Rows that are neighbours in the output follow each other.
  IntList others;
  for (int i = 0; i < rank; ++i) {
    if (i == dim) continue;
    others.Append(i);
    for (int at = others.size() - 1; at > 0 && out.strides[others[at - 1]] < out.strides[others[at]]; --at) {
      std::swap(others[at - 1], others[at]);
    }
  }
  args.num_rows = 1;
  for (const int64_t i : others) {
    args.num_rows *= out.shape[i];
    args.in_starts.Append(out.shape[i], in.strides[i]);
    args.out_starts.Append(out.shape[i], out.strides[i]);
  }
  args.divisor = divisor;
  const auto whole = static_cast<uint64_t>(divisor);
  const bool is_power = divisor == static_cast<T>(whole) && std::has_single_bit(whole);
  args.reciprocal = is_power ? T{1} / divisor : T{0};
  FftKernel(place, args);
}

/// Along all of these dimensions, from the last to the first; the division comes at the end.
template <class T>
void TransformDims(const Place& place, const IntList& shape, const IntList& dims, bool forward, T divisor,
                   TensorView in, const TensorView& out) {
  for (int i = dims.size() - 1; i >= 0; --i) {
    const int dim = static_cast<int>(dims[i]);
    TransformDim<T>(place, FftKind::kComplex, !forward, shape[dim], dim, in, out, shape.size(),
                    i == 0 ? divisor : T{1});
    in = out;
  }
}

IntList WithoutLast(const IntList& dims) { return IntList(std::span(dims.begin(), dims.end() - 1)); }

}  // namespace

Specs InferFftC2c(const TensorView& input, const IntList& dim, int64_t normalization, bool) {
  Check("fft_c2c", input, true, dim, normalization);
  return {{input.dtype, input.shape}};
}

void FftC2c(const TensorView& input, const IntList& dim, int64_t normalization, bool forward, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("fft_c2c", InferFftC2c(input, dim, normalization, forward), {&output}, input);
  const Place place = PlaceOf("fft_c2c", input);
  if (output.numel() == 0) return;
  const Call call = Check("fft_c2c", input, true, dim, normalization);
  if (call.dims.size() == 0) {
    CopyElements(place, input, output);
    return;
  }
  DispatchReal(input.dtype, [&]<class T>() {
    TransformDims<T>(place, call.shape, call.dims, forward, Divisor<T>(call.shape, call.dims, normalization), input,
                     output);
  });
}

Specs InferFftR2c(const TensorView& input, const IntList& dim, int64_t normalization, bool onesided) {
  const Call call = CheckSome("fft_r2c", input, false, dim, normalization);
  IntList shape = call.shape;
  if (onesided) shape[call.last()] = shape[call.last()] / 2 + 1;
  return {{input.dtype, WithPairs(shape)}};
}

void FftR2c(const TensorView& input, const IntList& dim, int64_t normalization, bool onesided, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("fft_r2c", InferFftR2c(input, dim, normalization, onesided), {&output}, input);
  const Place place = PlaceOf("fft_r2c", input);
  if (output.numel() == 0) return;
  const Call call = CheckSome("fft_r2c", input, false, dim, normalization);
  const int last = call.last(), rank = call.shape.size();
  const int64_t n = call.shape[last];
  const IntList others = WithoutLast(call.dims);
  TensorView half = output;
  half.shape[last] = n / 2 + 1;
  IntList half_shape = call.shape;
  half_shape[last] = n / 2 + 1;
  DispatchReal(input.dtype, [&]<class T>() {
    const T divisor = Divisor<T>(call.shape, call.dims, normalization);
    const FftKind kind = n % 2 == 0 ? FftKind::kFromPairs : FftKind::kFromReal;
    TransformDim<T>(place, kind, false, n, last, input, half, rank, others.size() == 0 ? divisor : T{1});
    TransformDims<T>(place, half_shape, others, true, divisor, half, half);
    if (onesided) return;
    FftMirrorArgs<T> args{output.Data<T>(), call.shape, output.strides, {}, last};
    for (const int64_t d : others) args.is_transformed[d] = true;
    FftMirrorKernel(place, args);
  });
}

Specs InferFftC2r(const TensorView& input, const IntList& dim, int64_t normalization, int64_t last_dim_size) {
  const Call call = CheckC2r(input, dim, normalization, last_dim_size);
  IntList shape = call.shape;
  shape[call.last()] = last_dim_size;
  return {{input.dtype, shape}};
}

void FftC2r(const TensorView& input, const IntList& dim, int64_t normalization, int64_t last_dim_size, Out output) {
  const FpEnvGuard guard;
  CheckOutputs("fft_c2r", InferFftC2r(input, dim, normalization, last_dim_size), {&output}, input);
  const Place place = PlaceOf("fft_c2r", input);
  if (output.numel() == 0) return;
  const Call call = CheckC2r(input, dim, normalization, last_dim_size);
  const IntList others = WithoutLast(call.dims);
  DispatchReal(input.dtype, [&]<class T>() {
    OpScratch scratch(place);
    TensorView source = input;
    if (others.size() > 0) {
      source = scratch.New(input.dtype, input.shape);
      TransformDims<T>(place, call.shape, others, false, Divisor<T>(call.shape, others, normalization), input, source);
    }
    const T divisor = normalization == 0 ? T{1} : Divisor<T>(output.shape, {call.last()}, normalization);
    const FftKind kind = last_dim_size % 2 == 0 ? FftKind::kToPairs : FftKind::kToReal;
    TransformDim<T>(place, kind, true, last_dim_size, call.last(), source, output, call.shape.size(), divisor);
  });
}

}  // namespace repdl

REPDL_OPS(fft,
          MakeOp<InferFftC2c, FftC2c, FftKernel>("fft_c2c", "input, dim, normalization=0, forward=True", kFloat32Or64),
          MakeOp<InferFftR2c, FftR2c, FftKernel, FftMirrorKernel>("fft_r2c",
                                                                  "input, dim, normalization=0, onesided=True",
                                                                  kFloat32Or64),
          MakeOp<InferFftC2r, FftC2r, FftKernel>("fft_c2r", "input, dim, normalization, last_dim_size", kFloat32Or64))
