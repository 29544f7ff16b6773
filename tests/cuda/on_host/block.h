// SPDX-License-Identifier: MIT
// A device on the host: its memory, and the threads of a block, one fiber for each. What CUDA leaves open is drawn from a
// seed, so that what depends on it differs from seed to seed: the order of blocks; which warps run, and their threads in
// which order, between one barrier or exchange and the next; whether an asynchronous copy is done at once or when it is
// waited for. Shared memory is full of NaNs before each block.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>
#include <source_location>
#include <vector>

namespace repdl::on_host {

inline constexpr int kWarp = 32;

/// The kernels that are launched after this run in another order, on a device of another size.
void SetSchedule(uint32_t seed);
/// Barriers of blocks in the text of kernels.
using Barriers = std::vector<std::source_location>;
/// Where kernels write down the barriers that they come to; null if nowhere.
void NoteBarriers(Barriers* barriers);
/// A barrier that no thread waits at from now on, so that kernels lack it; null if there is none.
void LeaveOut(const std::source_location* barrier);
/// How often threads have stopped at a barrier or exchange, since the process began.
int64_t NumStops();

/// What the thread that runs knows about itself.
struct ThreadNow {
  dim3 index;
  int lane;
};
struct BlockNow {
  dim3 index, size, grid;
};
const ThreadNow& Now();
const BlockNow& NowBlock();

/// Waits until all threads of the block wait there.
void WaitForBlock(std::source_location where);
/// Shows `bits` to the threads of the mask once all of them are there, and returns those of lane `from`, or 0 if `from`
/// is no lane. The bits of a lane that is not in the mask are all ones.
uint64_t Exchange(unsigned mask, uint64_t bits, int from, std::source_location where);
/// The lanes of the mask whose predicate is true.
unsigned Ballot(unsigned mask, bool predicate, std::source_location where);

/// Ends the kernel with an error.
[[noreturn]] void Trap(std::source_location where);

void CopyAsync(void* to, const void* from, size_t size, size_t zeros);
void CommitCopies();
void WaitForCopies(size_t all_but);

/// Runs `thread` as each thread of the grid.
cudaError_t Run(const void* kernel, dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);
/// Lets a kernel have more shared memory than 48 KiB.
cudaError_t AllowSharedMemory(const void* kernel, size_t bytes);

}  // namespace repdl::on_host
