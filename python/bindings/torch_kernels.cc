// SPDX-License-Identifier: MIT
#include "torch_kernels.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <map>
#include <utility>

#include "small_call.h"

/// What torch throws where Python's error indicator is set, and knows by this name: it has the error told as it is. Made
/// as here it holds nothing; torch may move the error into it, to tell it in another thread.
struct python_error : std::exception {
  python_error() = default;
  python_error(const python_error&) = delete;
  ~python_error() override {
    if (type == nullptr && value == nullptr && traceback == nullptr) return;
    const nanobind::gil_scoped_acquire gil;
    for (PyObject* object : {type, value, traceback}) Py_XDECREF(object);
  }
  const char* what() const noexcept override { return message.c_str(); }

  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  std::string message;
};

namespace nb = nanobind;

namespace repdl {
namespace {

using Failed = int32_t;
using Kernel = void (*)(TorchWord* stack, uint64_t num_arguments, uint64_t num_results);

struct {
  Failed (*open)(const char* name_space, const char* key, const char* file, uint32_t line, void** library);
  Failed (*put)(void* library, const char* name, Kernel kernel, uint64_t version);
  Failed (*close)(void* library);
} torch{};

/// The version of torch whose interface this is.
constexpr uint64_t kVersion = uint64_t{2} << 56 | uint64_t{13} << 48;

/// What a kernel calls: torch gives it nothing that says which it is.
struct Slot {
  PyObject* function = nullptr;
  const OverrideCallable* override = nullptr;
  TorchSignature signature;
  std::optional<SmallPlan> plan;
};

constexpr size_t kSlots = 512;
std::array<Slot, kSlots> slots;  // they and their objects live as long as the process

/// Calls the function with Python objects of what is on the stack.
void CallFunction(const Slot& slot, TorchWord* stack, size_t num_results) {
  const nb::gil_scoped_acquire gil;
  const auto& [arguments, num_positional] = slot.signature;
  const size_t given_by_place = CountPositional(slot.signature, stack);
  std::vector<nb::object> objects;
  nb::list names;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i < num_positional ? i >= given_by_place : IsDefault(arguments[i], stack[i])) {
      Delete(arguments[i], stack[i]);
      continue;
    }
    objects.push_back(nb::steal(TakeObject(arguments[i], stack[i])));
    if (i >= num_positional) names.append(nb::borrow(arguments[i].name));
  }
  std::vector<PyObject*> pointers;
  for (const nb::object& object : objects) pointers.push_back(object.ptr());
  if (std::ranges::find(pointers, nullptr) != pointers.end()) throw python_error();
  const nb::tuple all_names(names);
  const nb::object result = nb::steal(PyObject_Vectorcall(
      slot.function, pointers.data(), given_by_place, given_by_place < pointers.size() ? all_names.ptr() : nullptr));
  if (!result.is_valid()) throw python_error();
  const bool is_tuple = num_results != 1;
  if (is_tuple &&
      (!PyTuple_Check(result.ptr()) || PyTuple_Size(result.ptr()) != static_cast<Py_ssize_t>(num_results))) {
    PyErr_SetString(PyExc_TypeError, "a kernel in Python must return a tuple of its results");
    throw python_error();
  }
  for (size_t i = 0; i < num_results; ++i) {
    PyObject* one = is_tuple ? PyTuple_GetItem(result.ptr(), static_cast<Py_ssize_t>(i)) : result.ptr();
    stack[i] = WordOfObject(one);
    if (stack[i] != 0) continue;
    PyErr_Format(PyExc_TypeError, "a kernel in Python must return tensors, got %R", Py_TYPE(one));
    throw python_error();
  }
}

void Call(const Slot& slot, TorchWord* stack, size_t num_results) {
  SmallResults results;
  if (!slot.plan || !CallSmall(*slot.override, slot.signature, *slot.plan, stack, num_results, results)) {
    return CallFunction(slot, stack, num_results);
  }
  const std::vector<TorchArgument>& arguments = slot.signature.arguments;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (i != results.argument) Delete(arguments[i], stack[i]);
  }
  if (results.argument) {
    stack[0] = stack[*results.argument];
    return;
  }
  for (size_t i = 0; i < num_results; ++i) {
    stack[i] = static_cast<TorchWord>(reinterpret_cast<uintptr_t>(std::exchange(results.made[i], nullptr)));
  }
}

template <size_t N>
void CallSlot(TorchWord* stack, uint64_t /*num_arguments*/, uint64_t num_results) {
  Call(slots[N], stack, num_results);
}

template <size_t... N>
constexpr std::array<Kernel, sizeof...(N)> MakeKernels(std::index_sequence<N...>) {
  return {&CallSlot<N>...};
}

/// The same slot for the same function each time; null if there is none.
Kernel KernelOf(const std::string& name, PyObject* function, const nb::list& arguments) {
  static std::map<std::pair<PyObject*, std::string>, Kernel> known;
  static size_t num_slots = 0;
  static const std::array<Kernel, kSlots> kernels = MakeKernels(std::make_index_sequence<kSlots>());
  Kernel& kernel = known[{function, name}];
  if (kernel != nullptr || num_slots == kSlots) return kernel;
  Slot slot{function, OverrideOf(function), {}, std::nullopt};
  for (nb::handle entry : arguments) {
    const auto [type, by_name, value] = nb::cast<std::tuple<std::string, nb::object, nb::object>>(entry);
    std::optional<TorchArgument> argument = ParseArgument(type, by_name, value);
    if (!argument) return nullptr;
    if (argument->name == nullptr) ++slot.signature.num_positional;
    slot.signature.arguments.push_back(std::move(*argument));
  }
  if (slot.override == nullptr) return nullptr;
  slot.plan = MakeSmallPlan(*slot.override, slot.signature);
  Py_INCREF(function);
  slots[num_slots] = std::move(slot);
  return kernel = kernels[num_slots++];
}

}  // namespace

void SetKernelFunctions(const std::vector<uintptr_t>& functions) {
  constexpr size_t kOwn = sizeof torch / sizeof(uintptr_t);
  if (functions.size() < kOwn) return;
  SetWordFunctions({functions.begin() + kOwn, functions.end()});
  if (HasWordFunctions()) std::memcpy(&torch, functions.data(), sizeof torch);
}

TorchKernels::TorchKernels(const std::string& name_space, const std::string& key, std::string file)
    : file_(std::move(file)) {
  if (torch.open != nullptr && torch.open(name_space.c_str(), key.c_str(), file_.c_str(), 0, &library_) != 0) {
    library_ = nullptr;
  }
}

bool TorchKernels::Put(const std::string& name, const nb::object& function, const nb::list& arguments) {
  if (library_ == nullptr) return false;
  const Kernel kernel = KernelOf(name, function.ptr(), arguments);
  return kernel != nullptr && torch.put(library_, name.c_str(), kernel, kVersion) == 0;
}

void TorchKernels::End() {
  if (library_ != nullptr) torch.close(std::exchange(library_, nullptr));
}

}  // namespace repdl
