// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace repdl {
namespace {

constexpr size_t kAlign = 64;
constexpr size_t kMinBlock = size_t{1} << 20;
// A block larger than this is freed with its Scratch: a thread keeps only what kernels use often.
constexpr size_t kMaxKept = size_t{64} << 20;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

struct Block {
  std::unique_ptr<std::byte, Free> data;
  size_t size = 0;
};

struct Arena {
  std::vector<Block> blocks;
  size_t block = 0;  // the one in use
  size_t used = 0;   // bytes of it
};

thread_local Arena arena;

}  // namespace

Scratch::Scratch() : saved_block_(arena.block), saved_used_(arena.used) {}

Scratch::~Scratch() {
  arena.block = saved_block_;
  arena.used = saved_used_;
  const size_t in_use = saved_block_ + (saved_used_ > 0 ? 1 : 0);
  while (arena.blocks.size() > in_use && arena.blocks.back().size > kMaxKept) {
    arena.blocks.pop_back();
  }
}

void* Scratch::Bytes(size_t size) {
  size = (size + 2 * kAlign - 1) / kAlign * kAlign;
  while (arena.block < arena.blocks.size() && arena.blocks[arena.block].size - arena.used < size) {
    ++arena.block;
    arena.used = 0;
  }
  if (arena.block == arena.blocks.size()) {
    const size_t block_size = std::max(size, kMinBlock);
    auto* data = static_cast<std::byte*>(std::aligned_alloc(kAlign, block_size));
    if (data == nullptr) throw std::bad_alloc();
    arena.blocks.push_back({std::unique_ptr<std::byte, Free>(data), block_size});
    arena.used = 0;
  }
  void* p = arena.blocks[arena.block].data.get() + arena.used;
  arena.used += size;
  return p;
}

}  // namespace repdl
