// SPDX-License-Identifier: MIT
// Kernels lack one barrier of theirs after the other: in some schedule that is seen.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "repdl/error.h"

namespace repdl::testing {
namespace {

struct Call {
  const char* text;
  /// Barriers that this call can do without: those that a kernel needs where a block has several rows or matrices, where
  /// numbers are scaled, or where another thread reads what each has written, as here none does.
  int unneeded;
};

class CudaMissingBarrier : public ::testing::TestWithParam<Call> {};

/// Whether a schedule shows that the barrier is not there.
bool IsSeenHere(const std::string& text, const std::string& digest) {
  for (uint32_t schedule = 1; schedule <= 16; ++schedule) {
    on_host::SetSchedule(schedule);
    try {
      if (DigestOnDevice(Case(text), Relayout::kMisaligned) != digest) return true;
    } catch (const CudaError&) {
      return true;
    }
  }
  return false;
}

/// The same in another process, as the kernel may write anywhere, or never end.
bool IsSeen(const std::string& text, const std::string& digest, const std::source_location& barrier) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (freopen("/dev/null", "w", stderr) == nullptr) _exit(2);
    on_host::LeaveOut(&barrier);
    _exit(IsSeenHere(text, digest) ? 1 : 0);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) throw std::runtime_error("there is no other process");
  return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

TEST_P(CudaMissingBarrier, IsSeen) {
  const std::string text = GetParam().text, digest = Digest(Case(text).Run());
  on_host::Barriers barriers;
  on_host::NoteBarriers(&barriers);
  EXPECT_EQ(DigestOnDevice(Case(text), Relayout::kMisaligned), digest);
  on_host::NoteBarriers(nullptr);
  std::string unneeded;
  int count = 0;
  for (const std::source_location& barrier : barriers) {
    if (IsSeen(text, digest, barrier)) continue;
    unneeded += std::string("\n") + barrier.file_name() + ":" + std::to_string(barrier.line());
    ++count;
  }
  EXPECT_FALSE(barriers.empty());
  EXPECT_EQ(count, GetParam().unneeded) << "of " << barriers.size() << unneeded;
}

INSTANTIATE_TEST_SUITE_P(
    Calls, CudaMissingBarrier,
    ::testing::Values(
        Call{"lstm(gates=normal[4, 3, 132]#1, hx=normal[3, 33]#4, cx=normal[3, 33]#5, weight=uniform[132, 33]#6)", 1},
        Call{"gru(gates=normal[4, 3, 99]#1, hx=normal[3, 33]#4, weight=uniform[99, 33]#5)", 1},
        Call{"rnn(gates=normal[4, 3, 33]#1, hx=normal[3, 33]#4, weight=uniform[33, 33]#5, bias=normal[33]#6)", 1},
        Call{"cdist(x1=normal[3, 5000]#1, x2=normal[4, 5000]#2)", 2},
        Call{"ctc_loss(log_probs=normal[40, 14, 33]#1, targets=classes33[14, 12]#2, input_lengths=classes41[14]#10, "
             "target_lengths=classes13[14]#4)",
             1},
        Call{"ctc_loss_grad(grad_output=normal[3]#5, log_probs=normal[30, 3, 6]#1, targets=classes6[3, 20]#2, "
             "input_lengths=classes31[3]#3, target_lengths=classes21[3]#4, loss=normal[3]#6, "
             "log_alpha=normal[3, 30, 41]#7)",
             0},
        Call{"segment_reduce(input=normal[1500, 2]#1, lengths=classes4[700]#2)", 0},
        Call{"philox_multinomial(weights=positive[5, 370]#1, num_samples=70, replacement=False, seed=1, call=2)", 2},
        Call{"philox_randperm(tensor=classes9[700]#1, seed=2, call=4)", 1},
        Call{"cholesky(input=dominant[40, 40]#1)", 0}, Call{"lu(input=normal[37, 40]#1)", 2},
        Call{"lu_solve(factors=dominant[40, 40]#1, pivots=classes40[40]#2, rows=normal[3, 40]#3, adjoint=True)", 2},
        Call{"cholesky_solve(factor=dominant[40, 40]#1, rows=normal[3, 40]#2)", 0},
        Call{"complex_geqrf(input=normal[37, 40, 2]#1)", 1}, Call{"ldl(input=normal[40, 40]#1)", 0},
        Call{"eigh(input=normal[36, 36]#1)", 1}, Call{"svd(input=normal[40, 36]#1)", 2},
        Call{"integer_mm(input=classes99[40, 70]#1, mat2=classes50[70, 35]#2)", 0},
        Call{"lstsq(input=normal[36, 40]#1, rows=normal[3, 36]#2, rcond=1e-06)", 5}),
    [](const auto& param) {
      const std::string text = param.param.text;
      return text.substr(0, text.find('('));
    });

}  // namespace
}  // namespace repdl::testing
