// SPDX-License-Identifier: MIT
#include "base/op_scratch.h"

#include <new>

#include "base/device_memory.h"
#include "repdl/error.h"

namespace repdl {

void* OpScratch::OnDevice(int64_t count, int64_t item) {
  if (count < 0 || count > PTRDIFF_MAX / item) throw std::bad_alloc();
  on_device_.reserve(on_device_.size() + 1);  // what comes must not be lost
  on_device_.push_back(internal::MemoryOf(place_).get(place_, count * item));
  return on_device_.back();
}

void OpScratch::GiveBack() {
  for (void* memory : on_device_) internal::MemoryOf(place_).give_back(place_, memory);
}

const internal::DeviceMemory& internal::MemoryOf(const Place& place) {
  const DeviceMemory* memory =
      place.device.type == DeviceType::kCuda ? cuda_memory.load(std::memory_order_acquire) : nullptr;
  if (memory == nullptr) {
    throw NotImplementedError(Message("[", place.op,
                                      "] needs memory of its own for these tensors, which it has none of on ",
                                      Name(place.device), "; make them contiguous or move them to the CPU"));
  }
  return *memory;
}

}  // namespace repdl
