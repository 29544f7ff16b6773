// SPDX-License-Identifier: MIT
// Ops called from several threads at once keep their bits, whatever another thread changes meanwhile. The thread
// sanitizer (`make tsan`) watches this test.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/parallel.h"
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

/// Ops that work on one thread: running statistics are as few as the channels, and the state of a generator goes from
/// number to number. Where forks are forced, the copies of what they take are shared all the same.
const std::set<std::string> kSequential = {"batch_norm_update", "uniform"};
constexpr bool kForcedForks = Grain(2) == 1;

TEST_F(Concurrency, OfEveryOpInAGoldenCase) {
  SetNumThreads(2);
  for (const std::string& op : GoldenOps()) {
    std::atomic<int64_t> jobs = 0;
    SetParallelFor(&HostParallelFor, &jobs);
    const std::vector<GoldenLine> lines = GoldenLines(op);
    for (auto line = lines.rbegin(); line != lines.rend() && jobs == 0; ++line) Case(line->text).Run();
    const bool sequential = kSequential.count(op) != 0;
    EXPECT_TRUE(jobs > 0 ? !sequential || kForcedForks : sequential) << op;
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
