// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "base/place.h"

namespace repdl::internal {

/// What an op does to memory of a device besides its kernels, in the order of the stream of a place. Nothing here waits for
/// the device.
struct DeviceMemory {
  /// `size` bytes, aligned to 256 of them, for what is started before they are given back.
  void* (*get)(const Place& place, int64_t size);
  void (*give_back)(const Place& place, void* memory);
  /// Copies element by element between two views of one shape and dtype.
  void (*copy)(const Place& place, const TensorView& from, const TensorView& to);
  /// Writes `count` elements of `item` bytes side by side, each of which has these bits.
  void (*fill)(const Place& place, void* to, int64_t count, int item, uint64_t bits);
  /// Writes what lies in memory of the host, `size` bytes, a multiple of 4. It has been read when this returns.
  void (*write)(const Place& place, void* to, const void* from, int64_t size);
  /// Copies `count` integers side by side, of int32 to int64 or back.
  void (*widen)(const Place& place, const int32_t* from, int64_t count, int64_t* to);
  void (*narrow)(const Place& place, const int64_t* from, int64_t count, int32_t* to);
};

/// That of CUDA devices. Null until an object of CUDA code puts it here when it is loaded.
inline constinit std::atomic<const DeviceMemory*> cuda_memory = nullptr;

/// That of the device of the place; NotImplementedError if there is none.
const DeviceMemory& MemoryOf(const Place& place);

}  // namespace repdl::internal
