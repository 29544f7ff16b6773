// SPDX-License-Identifier: MIT
// Every op with a CUDA kernel gives the digests of the slow reference on a device too, for any layout of its operands.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cpp/golden.h"
#include "cuda/digest_on_device.h"
#include "repdl/conformance.h"
#include "repdl/cuda.h"
#include "repdl/ops.h"

namespace repdl::testing {
namespace {

class OnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  }
};

TEST_P(OnDevice, GivesTheGoldenDigests) {
  for (const GoldenLine& line : GoldenLines(GetParam())) {
    for (int kind = 0; kind <= Relayout::kAligned; ++kind) {
      const Case test_case(line.text);
      // Tensors that an op changes must lie flat and alike.
      const bool is_flat = kind == Relayout::kMisaligned || kind == Relayout::kAligned;
      if (std::ranges::any_of(test_case.op().args, &ArgInfo::IsMutated) && !is_flat) continue;
      EXPECT_EQ(DigestOnDevice(test_case, static_cast<Relayout::Kind>(kind)), line.digest)
          << line.text << ", layout " << kind;
    }
  }
}

/// A stream that does not wait for the default one.
class Stream {
 public:
  Stream() { Must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  cudaStream_t get() const { return stream_; }
  /// Waits for what the default stream copies: a copy from pages that may move returns before it has arrived.
  void Begin() const { Must(cudaStreamSynchronize(nullptr)); }
  void Wait() const { Must(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Captures a run of a case and replays it twice.
std::string DigestOfReplay(CaseOnDevice& on_device, const Stream& stream) {
  stream.Begin();
  Must(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal));
  std::string error;
  try {
    const CudaStreamScope scope(stream.get());
    on_device.Run();
  } catch (const std::exception& failed) {
    error = failed.what();
  }
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream.get(), &graph);
  if (!error.empty()) {
    cudaGetLastError();
    return error;
  }
  Must(ended);
  cudaGraphExec_t replay = nullptr;
  Must(cudaGraphInstantiate(&replay, graph, 0));
  for (int i = 0; i < 2; ++i) {
    on_device.Reset();
    stream.Begin();
    Must(cudaGraphLaunch(replay, stream.get()));
    stream.Wait();
  }
  Must(cudaGraphExecDestroy(replay));
  Must(cudaGraphDestroy(graph));
  return on_device.Digest();
}

// Nothing waits for the device, or asks it for anything but kernels and memory: else a capture fails.
TEST_P(OnDevice, IsRepeatedByGraphs) {
  const Stream stream;
  const std::vector<GoldenLine> lines = GoldenLines(GetParam());
  for (size_t i = 0; i < lines.size(); i += lines.size() / 8 + 1) {
    const Case test_case(lines[i].text);
    CaseOnDevice on_device(test_case, Relayout::kMisaligned);
    EXPECT_EQ(DigestOfReplay(on_device, stream), lines[i].digest) << lines[i].text;
  }
}

TEST(Cuda, ThreadsWithStreamsDoNotDisturbEachOther) {
  if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  std::vector<std::thread> threads;
  std::mutex mutex;
  for (size_t number = 0; number < 4; ++number) {
    threads.emplace_back([number, &mutex] {
      const Stream stream;
      const CudaStreamScope scope(stream.get());
      const std::vector<std::string> names = OpsWithKernels();
      for (size_t i = 0; i < names.size(); ++i) {
        const std::vector<GoldenLine> lines = GoldenLines(names[(i + number * 7) % names.size()]);
        // Several at once, which use scratch memory in turn.
        std::deque<Case> cases;
        std::deque<CaseOnDevice> started;
        for (size_t l = number; l < lines.size() && started.size() < 4; l += 4) {
          started.emplace_back(cases.emplace_back(lines[l].text), Relayout::kMisaligned);
          stream.Begin();
          started.back().Run();
        }
        stream.Wait();
        for (size_t s = 0; s < started.size(); ++s) {
          const GoldenLine& line = lines[number + 4 * s];
          const std::string digest = started[s].Digest();
          const std::lock_guard lock(mutex);
          EXPECT_EQ(digest, line.digest) << line.text;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Cuda, AnOpWithoutMemorySaysSoAndTheNextOneRuns) {
  if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  Case test_case("sort(input=normal[4000000]#1)");
  CaseOnDevice on_device(test_case, Relayout::kMisaligned);
  {
    std::deque<DeviceMemory> taken;
    size_t free = 0, total = 0;
    Must(cudaMemGetInfo(&free, &total));
    for (size_t size = free; size > (size_t{1} << 20);) {
      try {
        taken.emplace_back(size);
      } catch (const CudaError&) {
        size /= 2;
      }
      cudaGetLastError();
    }
    try {
      on_device.Run();
      ADD_FAILURE() << "no error";
    } catch (const CudaError& error) {
      EXPECT_TRUE(std::string_view(error.what()).starts_with("[sort] ")) << error.what();
      EXPECT_NE(std::string_view(error.what()).find("cudaErrorMemoryAllocation"), std::string_view::npos)
          << error.what();
    }
  }
  on_device.Run();
  EXPECT_EQ(on_device.Digest(), Digest(test_case.Run()));
}

INSTANTIATE_TEST_SUITE_P(Ops, OnDevice, ::testing::ValuesIn(OpsWithKernels()),
                         [](const auto& param) { return param.param; });

TEST(Cuda, ProductsAreThoseOfTheCpu) {
  if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  // Many tiles, few rows or columns, long sums, many matrices; from memory that is aligned.
  for (const char* const arguments :
       {"input=normal[1000, 1028]#1, mat2=normal[1028, 1100]#2", "input=normal[2051, 300]#1, mat2=normal[300, 2049]#2",
        "input=wide[8, 4096]#1, mat2=wide[4096, 4096]#2",
        "input=normal[1, 4096]#1, mat2=normal[5000, 4096]#2, transB=True",
        "input=normal[4099, 4096]#1, mat2=normal[4096, 3]#2", "input=normal[130, 65600]#1, mat2=normal[65600, 70]#2",
        "input=normal[65600, 129]#1, mat2=normal[65600, 136]#2, transA=True",
        "input=normal[70000, 3, 20]#1, mat2=normal[70000, 20, 5]#2",
        "input=normal.float64[515, 1028]#1, mat2=normal.float64[1028, 640]#2",
        "input=wide.float64[2, 9000]#1, mat2=wide.float64[9000, 2000]#2"}) {
    for (const char* const order : {", order='blocked')", ", order='sequential')"}) {
      const std::string text = std::string("mm(") + arguments + order;
      EXPECT_EQ(Digest(Case(text).RunOnCuda(0)), Digest(Case(text).Run())) << text;
    }
  }
}

TEST(Cuda, TensorsOfMoreThan31Bits) {
  if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  const int64_t n = (int64_t{1} << 31) + 1000;
  size_t free = 0, total = 0;
  Must(cudaMemGetInfo(&free, &total));
  if (free < n * sizeof(float) + (size_t{1} << 30)) GTEST_SKIP() << "not enough memory";
  // Two rows of one column each, repeated: 4 and 9.
  const float values[] = {4, 9};
  const DeviceMemory input_memory(std::as_bytes(std::span(values))), output_memory(n * sizeof(float));
  TensorView input = MakeView(input_memory.data(), DType::kFloat32, {2, n / 2}, kDevice);
  input.strides = {1, 0};
  Sqrt(input, MakeView(output_memory.data(), DType::kFloat32, {2, n / 2}, kDevice));
  for (int64_t at : {int64_t{0}, n / 2 - 1, n / 2, (int64_t{1} << 31) - 1, int64_t{1} << 31, n - 1}) {
    float got = 0;
    Must(cudaMemcpy(&got, output_memory.data() + at * sizeof(float), sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT_EQ(got, at < n / 2 ? 2.0f : 3.0f) << at;
  }
}

TEST(Cuda, OpsRunOnTheStreamOfTheHost) {
  if (CudaDevices().empty()) GTEST_SKIP() << "no CUDA device";
  // A stream that captures runs nothing: an op that went elsewhere would have filled its output.
  cudaStream_t stream = nullptr;
  Must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  const float values[] = {4, 0};
  const DeviceMemory memory(std::as_bytes(std::span(values)));
  const TensorView input = MakeView(memory.data(), DType::kFloat32, {1}, kDevice);
  const TensorView output = MakeView(memory.data() + sizeof(float), DType::kFloat32, {1}, kDevice);
  Must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  {
    const CudaStreamScope scope(stream);
    Sqrt(input, output);
  }
  cudaGraph_t graph = nullptr;
  Must(cudaStreamEndCapture(stream, &graph));
  size_t num_nodes = 0;
  Must(cudaGraphGetNodes(graph, nullptr, &num_nodes));
  EXPECT_EQ(num_nodes, 1u);
  float got[2];
  Must(cudaMemcpy(got, memory.data(), sizeof got, cudaMemcpyDeviceToHost));
  EXPECT_EQ(got[1], 0.0f);
  Must(cudaGraphDestroy(graph));
  Must(cudaStreamDestroy(stream));
}

TEST(Cuda, ErrorsNameTheOp) {
  // A device that is not there, with a driver or without one.
  const auto index = static_cast<int>(CudaDevices().size());
  const TensorView tensor = MakeView(nullptr, DType::kFloat32, {1}, {DeviceType::kCuda, index});
  try {
    Exp(tensor, tensor);
    FAIL() << "no error";
  } catch (const CudaError& error) {
    EXPECT_TRUE(std::string_view(error.what()).starts_with("[exp] ")) << error.what();
    EXPECT_NE(std::string_view(error.what()).find("(cudaError"), std::string_view::npos) << error.what();
  }
}

}  // namespace
}  // namespace repdl::testing
