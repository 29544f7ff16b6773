// SPDX-License-Identifier: MIT
#include "torch_value.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <type_traits>
#include <utility>

namespace nb = nanobind;

namespace repdl {
namespace {

using Tag = TorchValue::Tag;

int32_t (*assign)(TensorHandle from, TensorHandle to) = nullptr;
TensorHandle undefined = nullptr;

/// c10::detail::ListImpl
struct TorchList {
  void* functions;
  uint64_t holders;
  TorchStack items;
};

/// What a handle of a tensor holds on to.
uint64_t& HeldBy(TensorHandle tensor) { return *static_cast<uint64_t*>(tensor); }

}  // namespace

bool SetValueFunctions(uintptr_t new_undefined, uintptr_t assign_function) {
  assign = reinterpret_cast<decltype(assign)>(assign_function);
  return reinterpret_cast<int32_t (*)(TensorHandle*)>(new_undefined)(&undefined) == 0;
}

std::optional<TorchArgument> ParseArgument(std::string_view type, const nb::object& name,
                                           const nb::object& default_value) {
  constexpr std::string_view kOptional = "Optional[";
  if (type.starts_with(kOptional)) type = type.substr(kOptional.size(), type.size() - kOptional.size() - 1);
  constexpr std::string_view kTypes[] = {"Tensor",     "int",       "float",      "bool",     "number",
                                         "ScalarType", "List[int]", "List[bool]", "Generator"};
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) return std::nullopt;
  TorchArgument argument{type == "Tensor", type == "ScalarType", name.is_none() ? nullptr : name.inc_ref().ptr(),
                         std::nullopt};
  if (default_value.ptr() == Py_Ellipsis) return argument;
  argument.default_value = ValueOfObject(default_value);
  return argument.default_value ? std::optional(argument) : std::nullopt;
}

std::optional<Value> ValueOfObject(nb::handle object) {
  if (object.is_none()) return Value();
  if (PyBool_Check(object.ptr())) return Value(object.ptr() == Py_True);
  if (PyLong_Check(object.ptr())) return Value(nb::cast<int64_t>(object));
  if (PyFloat_Check(object.ptr())) return Value(PyFloat_AsDouble(object.ptr()));
  if (!PyList_Check(object.ptr()) || PyList_Size(object.ptr()) > kMaxRank) return std::nullopt;
  IntList list;
  for (nb::handle item : object) {
    if (!PyLong_Check(item.ptr())) return std::nullopt;
    list.Append(nb::cast<int64_t>(item));
  }
  return Value(list);
}

bool ReadValue(const TorchValue& torch, Value& value) {
  switch (torch.tag) {
    case Tag::kNone: value = std::monostate(); return true;
    case Tag::kInt: value = static_cast<int64_t>(torch.word); return true;
    case Tag::kDouble: value = std::bit_cast<double>(torch.word); return true;
    case Tag::kBool: value = (torch.word & 1) != 0; return true;
    case Tag::kList: {
      const TorchStack& list = reinterpret_cast<const TorchList*>(static_cast<uintptr_t>(torch.word))->items;
      const std::span items(list.first, list.end);
      if (items.size() > kMaxRank) return false;
      auto& numbers = value.emplace<IntList>();
      for (const TorchValue& item : items) {
        if (item.tag != Tag::kInt && item.tag != Tag::kBool) return false;
        numbers.Append(item.tag == Tag::kBool ? static_cast<int64_t>(item.word & 1) : static_cast<int64_t>(item.word));
      }
      return true;
    }
    default: return false;
  }
}

bool AreEqual(const Value& a, const Value& b) {
  return std::visit(
      [&]<class T>(const T& value) {
        if constexpr (std::is_same_v<T, TensorView>) {
          return false;
        } else {
          const T* other = std::get_if<T>(&b);
          return other != nullptr && *other == value;
        }
      },
      a);
}

bool IsDefault(const TorchArgument& argument, const TorchValue& torch) {
  Value value;
  return argument.default_value && ReadValue(torch, value) && AreEqual(value, *argument.default_value);
}

TensorHandle TensorIn(TorchValue& torch) { return torch.tag == Tag::kTensor ? &torch.word : nullptr; }

void PutTensor(TensorHandle tensor, TorchValue& torch) {
  torch = {std::exchange(HeldBy(tensor), HeldBy(undefined)), Tag::kTensor};
}

void Release(TorchValue& torch) {
  constexpr Tag kPlain[] = {Tag::kNone, Tag::kDouble, Tag::kInt, Tag::kBool, Tag::kDevice};
  const Tag tag = std::exchange(torch.tag, Tag::kNone);
  if (std::ranges::find(kPlain, tag) != std::end(kPlain)) return;
  assign(undefined, &torch.word);  // torch lets go of any object as of a tensor
}

}  // namespace repdl
