// SPDX-License-Identifier: MIT
#include "torch_word.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace nb = nanobind;

namespace repdl {
namespace {

using Failed = int32_t;
using Type = TorchArgument::Type;

struct {
  PyObject* (*wrap_generator)(const void* generator);
  Failed (*delete_generator)(void* generator);
  Failed (*list_size)(void* list, size_t* size);
  Failed (*list_item)(void* list, size_t at, TorchWord* item);
  Failed (*delete_list)(void* list);
  Failed (*delete_word)(TorchWord* word);
  Failed (*new_undefined)(TensorHandle* made);
  int8_t (*result_type)(TensorHandle a, TensorHandle b);
} torch{};

/// A type of numbers that torch makes of those of Python, and a tensor of its kind with fewer bits.
struct Probe {
  DType dtype, less;
  bool is_complex;
  TensorHandle tensor;
};
Probe probes[] = {{DType::kFloat64, DType::kFloat32, false, nullptr},
                  {DType::kFloat64, DType::kFloat32, true, nullptr},
                  {DType::kInt64, DType::kUInt8, false, nullptr}};

void* AddressIn(TorchWord word) { return reinterpret_cast<void*>(static_cast<uintptr_t>(word)); }

TorchWord WordOf(void* address) { return static_cast<TorchWord>(reinterpret_cast<uintptr_t>(address)); }

/// What is in a word that is not None.
TorchWord Given(const TorchArgument& argument, TorchWord word) {
  return argument.optional ? *static_cast<const TorchWord*>(AddressIn(word)) : word;
}

bool IsNone(const TorchArgument& argument, TorchWord word) { return argument.optional && word == 0; }

size_t SizeOf(void* list) {
  size_t size = 0;
  torch.list_size(list, &size);
  return size;
}

int64_t ItemOf(void* list, size_t at) {
  TorchWord item = 0;
  torch.list_item(list, at, &item);
  return static_cast<int64_t>(item);
}

PyObject* ListOf(void* list) {
  const size_t size = SizeOf(list);
  PyObject* items = PyList_New(static_cast<Py_ssize_t>(size));
  for (size_t i = 0; items != nullptr && i < size; ++i) {
    PyList_SetItem(items, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(ItemOf(list, i)));
  }
  return items;
}

/// Whether a tensor is what torch makes of a Python number, beside which the type of any tensor of the kind decides. A
/// truth value, which decides nothing in either case, stays a tensor.
bool IsNumber(TensorHandle tensor) {
  const int32_t code = TorchCodeOfSingle(tensor);
  return std::ranges::any_of(probes, [&](const Probe& probe) {
    return code == TorchCodeOf(probe.dtype, probe.is_complex) &&
           torch.result_type(tensor, probe.tensor) == TorchCodeOf(probe.less, probe.is_complex);
  });
}

/// The Python object of a tensor, whose handle it deletes.
PyObject* TakeTensor(const TorchArgument& argument, TensorHandle tensor) {
  const bool is_number = !argument.changed && IsNumber(tensor);
  const nb::object object = nb::steal(ObjectOf(tensor));
  if (!is_number || !object.is_valid()) return nb::object(object).release().ptr();
  static PyObject* const item = PyUnicode_InternFromString("item");
  PyObject* const self = object.ptr();
  return PyObject_VectorcallMethod(item, &self, 1, nullptr);
}

void DeleteGiven(Type type, TorchWord word) {
  if (type == Type::kTensor) DeleteHandle(AddressIn(word));
  if (type == Type::kInts) torch.delete_list(AddressIn(word));
  if (type == Type::kGenerator) torch.delete_generator(AddressIn(word));
}

}  // namespace

void SetWordFunctions(const std::vector<uintptr_t>& functions) {
  if (functions.size() * sizeof(uintptr_t) != sizeof torch) return;
  for (Probe& probe : probes) {
    void* data = nullptr;
    probe.tensor = NewHandle(probe.less, probe.is_complex, {}, {}, Device(), data);
    if (probe.tensor == nullptr) return;
  }
  std::memcpy(&torch, functions.data(), sizeof torch);
}

bool HasWordFunctions() { return torch.wrap_generator != nullptr; }

std::optional<TorchArgument> ParseArgument(std::string_view type, const nb::object& name,
                                           const nb::object& default_value) {
  constexpr std::string_view kOptional = "Optional[";
  const bool optional = type.starts_with(kOptional);
  if (optional) type = type.substr(kOptional.size(), type.size() - kOptional.size() - 1);
  constexpr std::pair<std::string_view, Type> kTypes[] = {
      {"Tensor", Type::kTensor},      {"Tensor!", Type::kTensor}, {"int", Type::kInt},
      {"float", Type::kFloat},        {"bool", Type::kBool},      {"List[int]", Type::kInts},
      {"Generator", Type::kGenerator}};
  for (const auto& [text, known] : kTypes) {
    if (text != type) continue;
    TorchArgument argument{known, optional, type.ends_with('!'), name.is_none() ? nullptr : name.inc_ref().ptr(),
                           std::nullopt};
    if (default_value.ptr() == Py_Ellipsis) return argument;
    argument.default_value = ValueOfObject(default_value);
    if (!argument.default_value) return std::nullopt;
    return argument;
  }
  return std::nullopt;
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

bool ReadWord(const TorchArgument& argument, TorchWord word, Value& value) {
  if (IsNone(argument, word)) {
    value = std::monostate();
    return true;
  }
  const TorchWord given = Given(argument, word);
  switch (argument.type) {
    case Type::kInt: value = static_cast<int64_t>(given); return true;
    case Type::kFloat: value = std::bit_cast<double>(given); return true;
    case Type::kBool: value = (given & 1) != 0; return true;
    case Type::kInts: {
      void* const list = AddressIn(given);
      const size_t size = SizeOf(list);
      if (size > kMaxRank) return false;
      auto& numbers = value.emplace<IntList>();
      for (size_t i = 0; i < size; ++i) numbers.Append(ItemOf(list, i));
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

bool IsDefault(const TorchArgument& argument, TorchWord word) {
  Value value;
  return argument.default_value && ReadWord(argument, word, value) && AreEqual(value, *argument.default_value);
}

TensorHandle TensorIn(const TorchArgument& argument, TorchWord word) {
  return IsNone(argument, word) ? nullptr : AddressIn(Given(argument, word));
}

PyObject* TakeObject(const TorchArgument& argument, TorchWord word) {
  if (IsNone(argument, word)) Py_RETURN_NONE;
  const TorchWord given = Given(argument, word);
  PyObject* object = nullptr;
  switch (argument.type) {
    case Type::kTensor: object = TakeTensor(argument, AddressIn(given)); break;
    case Type::kInt: object = PyLong_FromLongLong(static_cast<int64_t>(given)); break;
    case Type::kFloat: object = PyFloat_FromDouble(std::bit_cast<double>(given)); break;
    case Type::kBool: object = PyBool_FromLong(static_cast<long>(given & 1)); break;
    case Type::kInts: object = ListOf(AddressIn(given)); break;
    case Type::kGenerator: object = torch.wrap_generator(AddressIn(given)); break;
  }
  if (argument.type != Type::kTensor) DeleteGiven(argument.type, given);
  if (argument.optional) torch.delete_word(static_cast<TorchWord*>(AddressIn(word)));
  return object;
}

void Delete(const TorchArgument& argument, TorchWord word) {
  if (IsNone(argument, word)) return;
  DeleteGiven(argument.type, Given(argument, word));
  if (argument.optional) torch.delete_word(static_cast<TorchWord*>(AddressIn(word)));
}

TorchWord WordOfObject(PyObject* object) {
  TensorHandle made = nullptr;
  if (object != Py_None) {
    made = HandleOfObject(object);
  } else if (torch.new_undefined(&made) != 0) {
    return 0;
  }
  return WordOf(made);
}

}  // namespace repdl
