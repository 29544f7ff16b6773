// SPDX-License-Identifier: MIT
// Ops called from several threads at once keep their bits, whatever another thread changes meanwhile. The thread
// sanitizer (`make tsan`) watches this test.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "cpp/golden.h"
#include "repdl/conformance.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl::testing {
namespace {

/// A host's pool: two threads of its own for each job.
void HostParallelFor(void* jobs, int64_t num_tasks, void (*task)(void*, int64_t), void* context) {
  ++*static_cast<std::atomic<int64_t>*>(jobs);
  std::atomic<int64_t> next = 0;
  const auto claim = [&] {
    for (int64_t i = next++; i < num_tasks; i = next++) task(context, i);
  };
  std::thread helper(claim);
  claim();
  helper.join();
}

/// Gives the process its settings back.
class Concurrency : public ::testing::Test {
 protected:
  ~Concurrency() override {
    SetParallelFor(nullptr, nullptr);
    SetTarget(target_);
    SetNumThreads(threads_);
  }

 private:
  std::string_view target_ = ActiveTarget();
  int threads_ = GetNumThreads();
};

/// Ops that fork: products, sums along and across rows, statistics, windows, and elementwise ones.
std::vector<GoldenLine> LinesOfManyDrivers() {
  std::vector<GoldenLine> lines;
  for (const char* op : {"batch_norm", "conv2d", "conv2d_grad_kernel", "cross_entropy", "exp", "max_pool2d", "mm",
                         "pow", "softmax", "sum"}) {
    const auto all = GoldenLines(op);
    lines.insert(lines.end(), all.begin(), all.end());
  }
  return lines;
}

TEST_F(Concurrency, OfAllThatIsWorthAFork) {
  SetNumThreads(2);
  for (const char* text : {
           "mm(input=normal[200, 200]#1, mat2=normal[200, 200]#2)",
           "linear(input=normal[200, 200]#1, weight=normal[200, 200]#2)",
           "conv2d(input=normal[1, 8, 40, 40]#1, weight=normal[32, 8, 3, 3]#2)",
           "conv2d_grad_input(input_shape=(1, 8, 40, 40), weight=normal[32, 8, 3, 3]#2, "
           "grad_output=normal[1, 32, 38, 38]#3)",
           "conv2d_grad_kernel(input=normal[1, 8, 40, 40]#1, weight_shape=(32, 8, 3, 3), "
           "grad_output=normal[1, 32, 38, 38]#3)",
           "attention(query=normal[1, 1, 300, 32]#1, key=normal[1, 1, 300, 32]#2, value=normal[1, 1, 300, 32]#3)",
           "softmax(input=normal[300, 300]#1, dim=1)",
           "layer_norm(input=normal[300, 300]#1, normalized_shape=(300))",
           "sum(input=normal[1000, 300]#1, dim=(0))",
           "exp(input=normal[300, 300]#1)",
       }) {
    std::atomic<int64_t> jobs = 0;
    SetParallelFor(&HostParallelFor, &jobs);
    Case(text).Run();
    EXPECT_GT(jobs, 0) << text;
  }
}

TEST_F(Concurrency, OfOpsAndSettings) {
  const std::vector<GoldenLine> lines = LinesOfManyDrivers();
  constexpr int kCallers = 3;
  std::atomic<int> working = kCallers;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      for (size_t i = 0; i < lines.size(); ++i) {
        const GoldenLine& line = lines[(i + lines.size() * caller / kCallers) % lines.size()];
        EXPECT_EQ(Digest(Case(line.text).Run()), line.digest) << line.text;
      }
      --working;
    });
  }
  const auto targets = SupportedTargets();
  std::atomic<int64_t> jobs[2] = {};
  for (size_t i = 0; working > 0; ++i) {
    SetNumThreads(static_cast<int>(i % 5) + 2);
    SetTarget(targets[i % targets.size()]);
    // Every third time the library's own pool.
    SetParallelFor(i % 3 == 2 ? nullptr : &HostParallelFor, &jobs[i % 3 % 2]);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_GT(jobs[0] + jobs[1], 0);
}

}  // namespace
}  // namespace repdl::testing
