// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

// The seed and the next 64 bits of a torch generator, straight from the object in C++: torch's kernel, called to fill a
// tensor of one number with them, takes more time than a small random tensor.

namespace repdl {

/// Says where torch has `uint64_t at::CPUGeneratorImpl::random64()` and `uint64_t …::current_seed() const`, the set of
/// dispatch keys of a generator of the CPU, and one such generator that nobody uses, which shows how they lie in memory.
/// SeedAndWord gives none for another layout than those that are known.
void SetWordSource(uintptr_t random64, uintptr_t current_seed, uint64_t key_set, const nanobind::object& generator);

/// The initial seed, and the bits, which count the generator on; or none, where torch's kernel is to draw them: of a
/// generator that is not of the CPU, or that another thread draws from.
std::optional<std::pair<int64_t, int64_t>> SeedAndWord(PyObject* generator);

}  // namespace repdl
