// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

// Keys of random numbers (docs/arithmetic.md), which a framework's generators give out.

namespace repdl {

/// Says how a generator is counted on: `draw(keys, cell, low, None, generator=generator)` writes its next 64 bits into
/// the int64 tensor `cell`, of which `make_cell()` makes one. Without a generator it is the default one that counts.
/// `of_device(generator)` is the key of a generator that is not on the CPU, None for others; `default_on(index)` the default
/// one of a CUDA device, None where it is that of the CPU.
void SetKeySource(nanobind::object draw, nanobind::object keys, nanobind::object make_cell,
                  nanobind::object default_generator, nanobind::object of_device, nanobind::object default_on);

/// The key (seed, call) of the next call: the initial seed of the generator, the default one for None or nullptr, that of a
/// CUDA device if one is given, and the next 64 bits that it draws. PythonError if the generator raises.
std::pair<int64_t, int64_t> DrawKey(PyObject* generator, std::optional<int> cuda_device = std::nullopt);

/// Sets what is called, once, before the default generator is counted on for the first time; None for nothing.
void SetFirstDraw(nanobind::object call);

}  // namespace repdl
