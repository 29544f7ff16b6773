// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "repdl/op.h"
#include "tensor_source.h"

// The arguments and results of a call as torch's dispatcher keeps them: its stable C interface copies them, and does not hand
// over a number that may be an integer or not. These are the beginnings of torch's C++ objects, alike in all versions
// that were measured.

namespace repdl {

/// c10::IValue: a number, or the address of an object that it holds on to; and which it is.
struct TorchValue {
  enum class Tag : uint32_t { kNone = 0, kTensor = 1, kDouble = 3, kInt = 5, kBool = 10, kList = 14, kDevice = 18 };
  uint64_t word;
  Tag tag;
};

/// std::vector<c10::IValue>, of which the last are the arguments of a call.
struct TorchStack {
  TorchValue* first;
  TorchValue* end;
  TorchValue* end_of_room;

  std::span<TorchValue> Last(size_t count) const { return {end - count, count}; }
};

/// An argument in a schema of torch's.
struct TorchArgument {
  bool is_tensor;
  bool is_dtype;
  PyObject* name;                      // of one that Python functions take by its name; else null
  std::optional<Value> default_value;  // monostate for None
};

/// Says where torch has aoti_torch_new_uninitialized_tensor, which makes a handle of no tensor, and
/// aoti_torch_assign_tensors. False if the former gives none.
bool SetValueFunctions(uintptr_t new_undefined, uintptr_t assign);

/// From its type in a schema, "Optional[Tensor]"; its name, or None for one that Python functions take by its place; and
/// its default, or Ellipsis. None for types that are not read here.
std::optional<TorchArgument> ParseArgument(std::string_view type, const nanobind::object& name,
                                           const nanobind::object& default_value);

/// A Python object as a value; none for those of other types.
std::optional<Value> ValueOfObject(nanobind::handle object);

/// A number, a list of integers or of truth values, or None as monostate. False for other things, and lists that are too long.
bool ReadValue(const TorchValue& torch, Value& value);
bool AreEqual(const Value& a, const Value& b);
bool IsDefault(const TorchArgument& argument, const TorchValue& torch);

/// The tensor, which stays there; null for None.
TensorHandle TensorIn(TorchValue& torch);

/// Puts a tensor there, of whose handle it leaves that of no tensor.
void PutTensor(TensorHandle tensor, TorchValue& torch);
/// Lets go of what it holds on to.
void Release(TorchValue& torch);

}  // namespace repdl
