// SPDX-License-Identifier: MIT
// What the threads of the CUDA map do, run here on the host: every element once, the right operands, and, with the lane
// texts compiled for one number, the digests of the slow reference.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>

#include "cpp/golden.h"
#include "cpp/relayout.h"
#include "drivers/map_cuda_thread.h"
#include "numerics/composite_scalar.h"
#include "numerics/special_of_two_scalar.h"
#include "repdl/conformance.h"
#include "repdl/digest.h"

namespace repdl::testing {
namespace {

using RunThread = std::function<void(const MapArgs& args, int64_t thread, int64_t num_threads)>;

/// The elementwise ops as the CUDA kernels have them.
const std::map<std::string, RunThread> kOps = {
#define REPDL_DOUBLE_kUpToFloat32(kInputs, Function)
#define REPDL_DOUBLE_kUpToFloat64(kInputs, Function)                                                  \
  if (args.output_dtype == DType::kFloat64) {                                                         \
    const auto f = [](auto... x) { return scalar::Function##Double()(scalar::Tag<double>(), x...); }; \
    return scalar::MapThread<kInputs, double>(args, thread, num_threads, f);                          \
  }
#define REPDL_UNARY(op, Function, Lanes, dtypes)                                                          \
  {#op, [](const MapArgs& args, int64_t thread, int64_t num_threads) {                                    \
     REPDL_DOUBLE_##dtypes(1, Function);                                                                  \
     scalar::MapThread<1>(args, thread, num_threads, [&](float x) {                                       \
       return args.output_dtype == DType::kFloat32 ? scalar::Function(x)                                  \
                                                   : scalar::ViaDoubleToOdd(scalar::Function##Wide(), x); \
     });                                                                                                  \
   }},
#define REPDL_BINARY(op, Function, Lanes, dtypes, first, second)                                               \
  {#op, [](const MapArgs& args, int64_t thread, int64_t num_threads) {                                         \
     REPDL_DOUBLE_##dtypes(2, Function);                                                                       \
     scalar::MapThread<2>(args, thread, num_threads, [](float x, float y) { return scalar::Function(x, y); }); \
   }},
#include "repdl/ops/elementwise.def"
#undef REPDL_UNARY
#undef REPDL_BINARY
#undef REPDL_DOUBLE_kUpToFloat32
#undef REPDL_DOUBLE_kUpToFloat64
};

class CudaMap : public ::testing::TestWithParam<std::string> {};

TEST_P(CudaMap, ThreadsGiveTheGoldenDigests) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    for (int kind = 0; kind < Relayout::kNumKinds; ++kind) {
      const Case test_case(line.text);
      std::deque<Relayout> inputs;
      for (const Value& arg : test_case.args()) {
        inputs.emplace_back(std::get<TensorView>(arg), static_cast<Relayout::Kind>(kind));
      }
      const Specs specs = test_case.op().infer(test_case.args());
      TensorMemory memory;
      const TensorView output = memory.New(specs.spec[0]);
      const MapArgs args = inputs.size() == 1 ? MakeMapArgs({&inputs[0].view()}, output)
                                              : MakeMapArgs({&inputs[0].view(), &inputs[1].view()}, output);
      constexpr int64_t kThreads = 37;  // fewer than elements: the threads must come around again
      for (int64_t thread = kThreads - 1; thread >= 0 && output.numel() > 0; --thread) {
        kOps.at(GetParam())(args, thread, kThreads);
      }
      EXPECT_EQ(Digest(output), line.digest) << line.text << ", layout " << kind;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, CudaMap, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const auto& [name, run] : kOps) names.push_back(name);
                           return names;
                         }()),
                         [](const auto& param) { return param.param; });

TEST(CudaMap, OffsetsOfMoreThan32Bits) {
  // Sizes on both sides of 2^32, and an operand that is repeated along one of them.
  MapArgs args;
  args.rank = 3;
  const int64_t shape[] = {3, 5'000'000'000, 7}, strides[] = {11, -2, 0};
  std::copy_n(shape, 3, args.shape);
  std::copy_n(strides, 3, args.strides[0]);
  for (int64_t i : {int64_t{0}, int64_t{2}}) {
    for (int64_t j : {int64_t{0}, int64_t{613'566'756}, int64_t{4'294'967'296}, int64_t{4'999'999'999}}) {
      for (int64_t k : {int64_t{0}, int64_t{6}}) {
        int64_t offsets[1];
        scalar::MapOffsets<1>(args, (i * shape[1] + j) * shape[2] + k, offsets);
        EXPECT_EQ(offsets[0], 11 * i - 2 * j) << i << ' ' << j << ' ' << k;
      }
    }
  }
}

}  // namespace
}  // namespace repdl::testing
