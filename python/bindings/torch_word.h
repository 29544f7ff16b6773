// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "repdl/op.h"
#include "tensor_source.h"

// The words in which torch's stable C interface hands the arguments of a call to a kernel: numbers as they are, and for
// other things the address of one that belongs to the kernel.

namespace repdl {

using TorchWord = uint64_t;

/// An argument in a schema of torch's.
struct TorchArgument {
  enum class Type { kTensor, kInt, kFloat, kBool, kInts, kGenerator };
  Type type;
  bool optional;
  bool changed;                        // a tensor that the kernel writes to
  PyObject* name;                      // of one that Python functions take by its name; else null
  std::optional<Value> default_value;  // monostate for None
};

/// Says where torch has the functions that read and delete what words hold, in the order of WordFunctions.
void SetWordFunctions(const std::vector<uintptr_t>& functions);
bool HasWordFunctions();

/// From its type in a schema, "Optional[Tensor]", or "Tensor!" for one that is written to; its name, or None for one that Python functions take by its place; and
/// its default, or Ellipsis. None for types that are not read here.
std::optional<TorchArgument> ParseArgument(std::string_view type, const nanobind::object& name,
                                           const nanobind::object& default_value);

/// A Python object as a value; none for those of other types.
std::optional<Value> ValueOfObject(nanobind::handle object);

/// A number or a list, or None as monostate. False for other things, and lists that are too long.
bool ReadWord(const TorchArgument& argument, TorchWord word, Value& value);
bool AreEqual(const Value& a, const Value& b);
bool IsDefault(const TorchArgument& argument, TorchWord word);

/// The tensor in a word, which stays there; null for None.
TensorHandle TensorIn(const TorchArgument& argument, TorchWord word);

/// A Python object of what is in a word, which is deleted; null with a Python error.
PyObject* TakeObject(const TorchArgument& argument, TorchWord word);
void Delete(const TorchArgument& argument, TorchWord word);

/// The word of a tensor or None, for a result; 0 for other objects.
TorchWord WordOfObject(PyObject* object);

}  // namespace repdl
