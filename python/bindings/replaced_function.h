// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

// What a function of another extension module does, changed under its name: the object stays the one that others may
// have imported before.

namespace repdl {

/// Lets a function or method that is written in C call `make(original)` instead, with the same arguments, `self` first
/// for a method; the original takes them so too.
/// TypeError if the object is no such function, or takes arguments in a way that is not known here.
void ReplaceFunction(const nanobind::object& function, const nanobind::object& make);

/// The same for what makes the objects of a type that is written in C, with the type as the first argument.
void ReplaceNew(const nanobind::object& type, const nanobind::object& make);

/// Gives a function or a type back what was replaced.
void RestoreFunction(const nanobind::object& function_or_type);

/// Fills memory with a pattern of 1, 2, 4, 8 or 16 bytes, from an address that an element begins at.
void FillMemory(uintptr_t address, size_t bytes, const nanobind::bytes& pattern);

/// The same for all elements of a new tensor; false if it is not a row-major one on the CPU.
bool FillTensor(nanobind::handle tensor, const nanobind::bytes& pattern);

}  // namespace repdl
