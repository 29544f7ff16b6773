// SPDX-License-Identifier: MIT
#include "torch_kernels.h"

#include <dlfcn.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "direct_call.h"
#include "replaced_import.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// What c10::KernelFunction calls with the functor that it has, the op and the dispatch keys.
using Kernel = void (*)(void* functor, const void* op, uint64_t keys, TorchStack* stack);

/// The beginning of torch::CppFunction.
struct CppFunction {
  uint64_t key;
  void* functor;
  Kernel kernel;
  void* unboxed;
  void* unboxed_with_symbols;
};

void* (*enter)(void* library, const char* name, CppFunction* function, int how) = nullptr;

/// torch's kernel of all functors that are Python functions.
std::atomic<Kernel> call_python = nullptr;

/// torch's own kernel of an overload.
struct Native {
  void* functor;
  Kernel kernel;
};

/// The beginning of what a torch._C._SafeKernelFunction holds, whose address is behind the head of the Python object. None
/// for None, and if that is no function of a library.
std::optional<Native> NativeIn(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  void* const* held;
  std::memcpy(&held, reinterpret_cast<std::byte*>(object) + sizeof(PyObject), sizeof held);
  Dl_info library;
  if (dladdr(held[1], &library) == 0) return std::nullopt;
  return Native{held[0], reinterpret_cast<Kernel>(held[1])};
}

/// What a kernel does: torch gives it nothing of ours that says which it is.
struct Slot {
  TorchSignature signature;
  size_t num_results = 0;
  std::vector<std::pair<const OverrideCallable*, DirectPlan>> ways;  // each the fallback of the one before
  std::optional<Native> of_integers;
};

constexpr size_t kSlots = 1024;
std::array<Slot, kSlots> slots;  // they and their objects live as long as the process

bool CallDirectly(const Slot& slot, TorchStack& stack) {
  const std::span arguments = stack.Last(slot.signature.arguments.size());
  for (const auto& [function, plan] : slot.ways) {
    DirectResults results;
    if (!CallDirectly(*function, slot.signature, plan, arguments, slot.num_results, results)) continue;
    size_t kept = 0;
    if (results.argument) std::swap(arguments[kept++], arguments[*results.argument]);
    for (TorchValue& argument : arguments.subspan(kept)) Release(argument);
    for (size_t i = kept; i < slot.num_results; ++i) PutTensor(results.made[i], arguments[i]);
    stack.end = arguments.data() + slot.num_results;
    return true;
  }
  return false;
}

/// Whether a call has tensors of integers and nothing that makes the result another.
bool IsOfIntegers(const TorchSignature& signature, std::span<TorchValue> given) {
  bool has_tensor = false;
  for (size_t i = 0; i < given.size(); ++i) {
    switch (given[i].tag) {
      case TorchValue::Tag::kNone:
      case TorchValue::Tag::kBool: break;
      case TorchValue::Tag::kInt:
        if (signature.arguments[i].is_dtype) return false;
        break;
      case TorchValue::Tag::kTensor:
        if (!IsWhole(TensorIn(given[i]))) return false;
        has_tensor = true;
        break;
      case TorchValue::Tag::kList: {
        if (Value value; !ReadValue(given[i], value)) return false;
        break;
      }
      default: return false;
    }
  }
  return has_tensor;
}

template <size_t N>
void CallSlot(void* functor, const void* op, uint64_t keys, TorchStack* stack) {
  const Slot& slot = slots[N];
  if (CallDirectly(slot, *stack)) return;
  const bool is_native = slot.of_integers && IsOfIntegers(slot.signature, stack->Last(slot.signature.arguments.size()));
  if (is_native) return slot.of_integers->kernel(slot.of_integers->functor, op, keys, stack);
  call_python.load()(functor, op, keys, stack);
}

template <size_t... N>
constexpr std::array<Kernel, sizeof...(N)> MakeKernels(std::index_sequence<N...>) {
  return {&CallSlot<N>...};
}

std::optional<Slot> MakeSlot(PyObject* function, const nb::list& arguments, size_t num_results, PyObject* native) {
  Slot slot{{}, num_results, {}, NativeIn(native)};
  if (num_results > arguments.size()) return std::nullopt;
  for (nb::handle entry : arguments) {
    const auto [type, by_name, value] = nb::cast<std::tuple<std::string, nb::object, nb::object>>(entry);
    std::optional<TorchArgument> argument = ParseArgument(type, by_name, value);
    if (!argument) return std::nullopt;
    if (argument->name == nullptr) ++slot.signature.num_positional;
    slot.signature.arguments.push_back(std::move(*argument));
  }
  for (const OverrideCallable* way = OverrideOf(function); way != nullptr; way = OverrideOf(way->fallback)) {
    if (std::optional<DirectPlan> plan = MakeDirectPlan(*way, slot.signature)) slot.ways.emplace_back(way, *plan);
  }
  return slot.ways.empty() && !slot.of_integers ? std::nullopt : std::optional(std::move(slot));
}

/// The same kernel for the same function each time; null if there is none.
Kernel KernelOf(const std::string& name, PyObject* function, const nb::list& arguments, size_t num_results,
                PyObject* native) {
  static std::map<std::pair<PyObject*, std::string>, Kernel> known;
  static size_t num_slots = 0;
  static const std::array<Kernel, kSlots> kernels = MakeKernels(std::make_index_sequence<kSlots>());
  const auto [found, is_new] = known.try_emplace({function, name}, nullptr);
  if (!is_new) return found->second;
  Py_INCREF(function);
  Py_INCREF(native);
  std::optional<Slot> slot = MakeSlot(function, arguments, num_results, native);
  if (!slot || num_slots == kSlots) return nullptr;
  slots[num_slots] = std::move(*slot);
  return found->second = kernels[num_slots++];
}

/// What the next Python function that this thread puts into the dispatcher gets in the place of torch's kernel.
thread_local Kernel awaited = nullptr;

/// In the place of torch::Library::_impl.
void* Enter(void* library, const char* name, CppFunction* function, int how) {
  const Kernel ours = std::exchange(awaited, nullptr);
  Kernel known = nullptr;
  if (ours != nullptr && function->unboxed == nullptr && function->unboxed_with_symbols == nullptr &&
      (call_python.compare_exchange_strong(known, function->kernel) || known == function->kernel)) {
    function->kernel = ours;
  }
  return enter(library, name, function, how);
}

std::optional<ReplacedImports> imports;

}  // namespace

void SetKernelFunctions(const std::vector<uintptr_t>& functions, uintptr_t in_python) {
  if (functions.size() != 3 || !SetValueFunctions(functions[1], functions[2])) return;
  enter = reinterpret_cast<decltype(enter)>(functions[0]);
  const Import import{"_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE",
                      reinterpret_cast<void*>(&Enter)};
  imports.emplace(reinterpret_cast<void*>(in_python), std::span(&import, 1));
  imports->Replace();
}

void PutKernel(const std::string& name, const nb::object& function, const nb::list& arguments, size_t num_results,
               const nb::object& native, const nb::object& put) {
  struct Awaiting {
    explicit Awaiting(Kernel kernel) { awaited = kernel; }
    ~Awaiting() { awaited = nullptr; }
  } const awaiting(KernelOf(name, function.ptr(), arguments, num_results, native.ptr()));
  put();
}

}  // namespace repdl
