// SPDX-License-Identifier: MIT
#include "replaced_function.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "repdl/error.h"
#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

// The beginnings of CPython's objects, which are the same in all its versions; the stable ABI does not name them. Each
// is checked against what the stable ABI does tell before it is believed.
struct FunctionObject {
  PyObject head;
  PyMethodDef* definition;
  PyObject *self, *module, *weak_references;
  vectorcallfunc vectorcall;  // null if a call goes through the definition
};
struct MethodObject {
  PyObject head;
  PyTypeObject* type;
  PyObject* name;
  PyObject* qualified_name;
  PyMethodDef* definition;
};

using AnyFunction = void (*)();

/// A function pointer of another module, and what is called in its place.
struct Slot {
  AnyFunction* place = nullptr;
  AnyFunction before = nullptr;    // what stood there
  AnyFunction original = nullptr;  // what that calls
  AnyFunction ours = nullptr;
  int flags = 0;
  PyObject* self = nullptr;  // of a function
  bool takes_self = false;   // a method, or what makes objects of a type
  PyObject* replacement = nullptr;
  PyMethodDef definition{};  // of the original as a function of its own
  std::string name;
};

constexpr size_t kSlots = 64;
std::array<Slot, kSlots> slots;  // they and their objects live as long as the process
size_t num_slots = 0;

constexpr int kNew = -1;  // instead of flags: tp_new
constexpr int kCalls =
    METH_VARARGS | METH_KEYWORDS | METH_O | METH_NOARGS | METH_FASTCALL;  // flags of how it is called

PyObject* CallOriginal(const Slot& slot, PyObject* self, PyObject* args, PyObject* kwargs) {
  if (slot.flags == kNew) {
    return reinterpret_cast<newfunc>(slot.original)(reinterpret_cast<PyTypeObject*>(self), args, kwargs);
  }
  const int flags = slot.flags & (METH_VARARGS | METH_KEYWORDS | METH_O | METH_NOARGS);
  if (flags == (METH_VARARGS | METH_KEYWORDS)) {
    return reinterpret_cast<PyCFunctionWithKeywords>(slot.original)(self, args, kwargs);
  }
  const Py_ssize_t expected = flags == METH_O ? 1 : 0;
  if ((kwargs != nullptr && PyDict_Size(kwargs) != 0) || PyTuple_Size(args) != expected) {
    PyErr_Format(PyExc_TypeError, "%s takes %zd positional arguments", slot.name.c_str(), expected);
    return nullptr;
  }
  return reinterpret_cast<PyCFunction>(slot.original)(self, expected == 0 ? nullptr : PyTuple_GetItem(args, 0));
}

PyObject* Call(const Slot& slot, PyObject* self, PyObject* args, PyObject* kwargs) {
  // A class that was made meanwhile has inherited a pointer to here.
  if (*slot.place != slot.ours) return CallOriginal(slot, self, args, kwargs);
  if (!slot.takes_self) return PyObject_Call(slot.replacement, args, kwargs);
  const nb::object with_self = nb::steal(PyTuple_New(1 + PyTuple_Size(args)));
  if (!with_self.is_valid()) return nullptr;
  Py_INCREF(self);
  PyTuple_SetItem(with_self.ptr(), 0, self);
  for (Py_ssize_t i = 0; i < PyTuple_Size(args); ++i) {
    PyObject* item = PyTuple_GetItem(args, i);
    Py_INCREF(item);
    PyTuple_SetItem(with_self.ptr(), i + 1, item);
  }
  return PyObject_Call(slot.replacement, with_self.ptr(), kwargs);
}

template <size_t N>
PyObject* CalledWithKeywords(PyObject* self, PyObject* args, PyObject* kwargs) {
  return Call(slots[N], self, args, kwargs);
}

template <size_t N>
PyObject* CalledWithOne(PyObject* self, PyObject* arg) {
  const nb::object args = arg == nullptr ? nb::steal(PyTuple_New(0)) : nb::steal(PyTuple_Pack(1, arg));
  return args.is_valid() ? Call(slots[N], self, args.ptr(), nullptr) : nullptr;
}

template <size_t N>
PyObject* CalledInWords(PyObject*, PyObject* const* given, size_t flagged_count, PyObject* names) {
  const Py_ssize_t count = PyVectorcall_NARGS(flagged_count);
  const nb::object args = nb::steal(PyTuple_New(count));
  const nb::object kwargs = nb::steal(names == nullptr ? nullptr : PyDict_New());
  if (!args.is_valid() || (names != nullptr && !kwargs.is_valid())) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i) {
    Py_INCREF(given[i]);
    PyTuple_SetItem(args.ptr(), i, given[i]);
  }
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_Size(names); ++i) {
    if (PyDict_SetItem(kwargs.ptr(), PyTuple_GetItem(names, i), given[count + i]) != 0) return nullptr;
  }
  return Call(slots[N], slots[N].self, args.ptr(), kwargs.ptr());
}

/// By how the arguments come.
enum class Way { kWithKeywords, kWithOne, kInWords };

template <size_t... N>
AnyFunction EntryOf(size_t slot, Way way, std::index_sequence<N...>) {
  static constexpr std::array with_keywords = {&CalledWithKeywords<N>...};
  static constexpr std::array with_one = {&CalledWithOne<N>...};
  static constexpr std::array in_words = {&CalledInWords<N>...};
  switch (way) {
    case Way::kWithKeywords: return reinterpret_cast<AnyFunction>(with_keywords[slot]);
    case Way::kWithOne: return reinterpret_cast<AnyFunction>(with_one[slot]);
    case Way::kInWords: break;
  }
  return reinterpret_cast<AnyFunction>(in_words[slot]);
}

/// The original as a function; `capsule` holds the slot.
PyObject* CallOfOriginal(PyObject* capsule, PyObject* args, PyObject* kwargs) {
  const auto& slot = *static_cast<const Slot*>(PyCapsule_GetPointer(capsule, nullptr));
  if (!slot.takes_self) return CallOriginal(slot, slot.self, args, kwargs);
  if (PyTuple_Size(args) == 0) {
    PyErr_Format(PyExc_TypeError, "%s needs an argument", slot.name.c_str());
    return nullptr;
  }
  const nb::object rest = nb::steal(PyTuple_GetSlice(args, 1, PyTuple_Size(args)));
  return rest.is_valid() ? CallOriginal(slot, PyTuple_GetItem(args, 0), rest.ptr(), kwargs) : nullptr;
}

bool HasName(PyObject* object, const char* name) {
  return PyUnicode_Check(object) && PyUnicode_CompareWithASCIIString(object, name) == 0;
}

/// The definition of a function or method, and whether it is a method.
std::pair<PyMethodDef*, bool> DefinitionOf(PyObject* function) {
  if (Py_TYPE(function) == &PyCFunction_Type) {
    PyMethodDef* found = reinterpret_cast<FunctionObject*>(function)->definition;
    const nb::object name = nb::steal(PyObject_GetAttrString(function, "__name__"));
    if (name.is_valid() && found->ml_meth == PyCFunction_GetFunction(function) && HasName(name.ptr(), found->ml_name)) {
      return {found, false};
    }
  } else if (Py_TYPE(function) == &PyMethodDescr_Type) {
    const auto* method = reinterpret_cast<MethodObject*>(function);
    const nb::object name = nb::steal(PyObject_GetAttrString(function, "__name__"));
    if (name.is_valid() && method->name == name.ptr() && HasName(name.ptr(), method->definition->ml_name)) {
      return {method->definition, true};
    }
  }
  PyErr_Clear();
  return {nullptr, false};
}

/// Where a type keeps the function that makes its objects: the one place that holds what the stable ABI says it is.
AnyFunction* PlaceOfNew(PyTypeObject* type) {
  auto* const wanted = reinterpret_cast<AnyFunction>(PyType_GetSlot(type, Py_tp_new));
  constexpr size_t kWords = 48;  // all versions have more
  auto* const words = reinterpret_cast<AnyFunction*>(type);
  AnyFunction* found = nullptr;
  for (size_t i = 0; i < kWords; ++i) {
    if (words[i] != wanted) continue;
    if (found != nullptr) return nullptr;
    found = words + i;
  }
  return found;
}

Slot* SlotAt(const AnyFunction* place) {
  for (size_t i = 0; i < num_slots; ++i) {
    if (slots[i].place == place) return &slots[i];
  }
  return nullptr;
}

/// Where a function keeps how it is called without a tuple, of those that have no such way; null for others. What stands
/// there does not reach the function's hash, so that it is still found in sets and dictionaries that were made before.
AnyFunction* PlaceOfVectorcall(PyObject* function, int flags) {
  if (Py_TYPE(function) != &PyCFunction_Type || flags != (METH_VARARGS | METH_KEYWORDS)) return nullptr;
  static const bool is_known = [] {
    const nb::object size = nb::handle(reinterpret_cast<PyObject*>(&PyCFunction_Type)).attr("__basicsize__");
    return nb::cast<size_t>(size) == sizeof(FunctionObject);
  }();
  auto* const object = reinterpret_cast<FunctionObject*>(function);
  PyObject* const self = PyCFunction_GetSelf(function);  // which says nothing of a static method's
  if (!is_known || (self != nullptr && object->self != self)) return nullptr;
  auto* const place = reinterpret_cast<AnyFunction*>(&object->vectorcall);
  return *place == nullptr || SlotAt(place) != nullptr ? place : nullptr;
}

void Replace(AnyFunction* place, AnyFunction called, Way way, int flags, PyObject* self, bool takes_self,
             const char* name, const nb::object& make) {
  Slot* slot = SlotAt(place);
  if (slot == nullptr) {
    if (num_slots == kSlots) throw ValueError("too many functions are replaced");
    slot = &slots[num_slots];
    slot->place = place;
    slot->before = *place;
    slot->original = called;
    slot->flags = flags;
    slot->self = self;
    Py_XINCREF(self);
    slot->takes_self = takes_self;
    slot->name = name;
    slot->ours = EntryOf(num_slots++, way, std::make_index_sequence<kSlots>());
    slot->definition = {slot->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&CallOfOriginal)),
                        METH_VARARGS | METH_KEYWORDS, nullptr};
  }
  const nb::object capsule = nb::steal(PyCapsule_New(slot, nullptr, nullptr));
  const nb::object original = nb::steal(PyCFunction_NewEx(&slot->definition, capsule.ptr(), nullptr));
  if (!original.is_valid()) throw nb::python_error();
  // The one before is kept: another thread may be about to call it.
  slot->replacement = make(original).release().ptr();
  *place = slot->ours;
}

[[noreturn]] void Refuse(const nb::object& object) {
  throw TypeError(Message("[replace] ", nb::repr(object).c_str(), " is no function that can be replaced"));
}

}  // namespace

void ReplaceFunction(const nb::object& function, const nb::object& make) {
  const auto [definition, is_method] = DefinitionOf(function.ptr());
  if (definition == nullptr) Refuse(function);
  const int flags = definition->ml_flags & kCalls;
  if (flags != (METH_VARARGS | METH_KEYWORDS) && flags != METH_O && flags != METH_NOARGS) Refuse(function);
  PyObject* self = is_method ? nullptr : PyCFunction_GetSelf(function.ptr());
  auto* const in_definition = reinterpret_cast<AnyFunction*>(&definition->ml_meth);
  if (AnyFunction* place = PlaceOfVectorcall(function.ptr(), flags); place != nullptr) {
    return Replace(place, *in_definition, Way::kInWords, flags, self, is_method, definition->ml_name, make);
  }
  const Way way = (flags & METH_KEYWORDS) != 0 ? Way::kWithKeywords : Way::kWithOne;
  Replace(in_definition, *in_definition, way, flags, self, is_method, definition->ml_name, make);
}

void ReplaceNew(const nb::object& type, const nb::object& make) {
  if (!PyType_Check(type.ptr())) Refuse(type);
  AnyFunction* place = PlaceOfNew(reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (place == nullptr) Refuse(type);
  Replace(place, *place, Way::kWithKeywords, kNew, nullptr, true, "new", make);
}

void RestoreFunction(const nb::object& function_or_type) {
  PyObject* object = function_or_type.ptr();
  Slot* slot = nullptr;
  if (PyType_Check(object)) {
    slot = SlotAt(PlaceOfNew(reinterpret_cast<PyTypeObject*>(object)));
  } else if (const PyMethodDef* definition = DefinitionOf(object).first) {
    slot = SlotAt(PlaceOfVectorcall(object, definition->ml_flags & kCalls));
    if (slot == nullptr) slot = SlotAt(reinterpret_cast<const AnyFunction*>(&definition->ml_meth));
  }
  // It may be ours no more: somebody else may have replaced it since.
  if (slot != nullptr && *slot->place == slot->ours) *slot->place = slot->before;
}

void FillMemory(uintptr_t address, size_t bytes, const nb::bytes& pattern) {
  auto* const memory = reinterpret_cast<char*>(address);
  size_t done = std::min(bytes, pattern.size());
  if (done == 0) return;
  std::memcpy(memory, pattern.c_str(), done);
  constexpr size_t kBlock = 1 << 15;  // what is read again stays in the cache
  std::optional<nb::gil_scoped_release> release;
  if (bytes > kBlock) release.emplace();
  while (done < bytes) {
    const size_t next = std::min({done, bytes - done, kBlock / pattern.size() * pattern.size()});
    std::memcpy(memory + done, memory, next);
    done += next;
  }
}

bool FillTensor(nb::handle tensor, const nb::bytes& pattern) {
  const std::span<std::byte> memory = MemoryOf(tensor.ptr());
  if (memory.empty() || memory.size() % pattern.size() != 0) return false;
  FillMemory(reinterpret_cast<uintptr_t>(memory.data()), memory.size(), pattern);
  return true;
}

}  // namespace repdl
