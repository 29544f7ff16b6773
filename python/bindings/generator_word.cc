// SPDX-License-Identifier: MIT
#include "generator_word.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <utility>

#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// c10::GeneratorImpl, behind its virtual table and its counts of references: a mutex, the device, the set of keys.
constexpr size_t kCounts[] = {sizeof(uint64_t), 2 * sizeof(uint64_t)};  // of torch 2.13, and of others
constexpr std::byte kCpu{0}, kNoIndex{0xff};

PyTypeObject* type = nullptr;  // of generators, once all else is known; never freed
PyObject* name_of_address = nullptr;
uint64_t (*random64)(void*) = nullptr;
uint64_t (*current_seed)(const void*) = nullptr;
size_t mutex_at = 0;

std::byte* AddressOf(PyObject* generator) {
  const nb::object address = nb::steal(PyObject_GetAttr(generator, name_of_address));
  if (!address.is_valid()) throw PythonError();
  return reinterpret_cast<std::byte*>(PyLong_AsSize_t(address.ptr()));
}

/// The last one is remembered, and kept alive: mostly it is the default one.
std::byte* KnownAddressOf(PyObject* generator) {
  static PyObject* last = nullptr;
  static std::byte* address = nullptr;
  if (generator != last) {
    address = AddressOf(generator);
    Py_INCREF(generator);
    Py_XDECREF(std::exchange(last, generator));
  }
  return address;
}

size_t DeviceAt() { return mutex_at + sizeof(std::mutex); }

/// Whether a generator that nobody uses has its mutex there, and device and keys behind it.
bool IsLaidOut(const std::byte* generator, uint64_t key_set) {
  uint64_t found;
  std::memcpy(&found, generator + DeviceAt() + sizeof(uint64_t), sizeof found);
  const std::byte* const device = generator + DeviceAt();
  const bool is_free = std::all_of(generator + mutex_at, device, [](std::byte byte) { return byte == std::byte{0}; });
  return is_free && device[0] == kCpu && device[1] == kNoIndex && found == key_set;
}

}  // namespace

void SetWordSource(uintptr_t address, uintptr_t address_of_seed, uint64_t key_set, const nb::object& generator) {
  name_of_address = PyUnicode_InternFromString("_cdata");
  random64 = reinterpret_cast<uint64_t (*)(void*)>(address);
  current_seed = reinterpret_cast<uint64_t (*)(const void*)>(address_of_seed);
  const std::byte* const lies = AddressOf(generator.ptr());
  for (size_t counts : kCounts) {
    mutex_at = sizeof(void*) + counts;
    if (!IsLaidOut(lies, key_set)) continue;
    type = Py_TYPE(generator.ptr());
    return;
  }
}

std::optional<std::pair<int64_t, int64_t>> SeedAndWord(PyObject* generator) {
  if (type == nullptr || Py_TYPE(generator) != type) return std::nullopt;
  std::byte* const lies = KnownAddressOf(generator);
  if (lies[DeviceAt()] != kCpu) return std::nullopt;
  // To wait for it here would keep the GIL from the thread that has it.
  const std::unique_lock lock(*reinterpret_cast<std::mutex*>(lies + mutex_at), std::try_to_lock);
  if (!lock) return std::nullopt;
  return std::pair(static_cast<int64_t>(current_seed(lies)), static_cast<int64_t>(random64(lies)));
}

}  // namespace repdl
