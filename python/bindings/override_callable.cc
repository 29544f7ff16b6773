// SPDX-License-Identifier: MIT
#include "override_callable.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <optional>

#include "drivers/widened_op.h"
#include "override_call.h"
#include "repdl/error.h"

namespace nb = nanobind;

namespace repdl {
namespace {

// Read without the GIL too.
std::atomic<PyObject*> order_source = nullptr;  // never freed
std::atomic<Order> default_order = Order::kBlocked;
std::atomic<bool> has_keys = true;

/// For Tensors::Make, of transposed matrices.
IntList OrderOfTransposed(int rank) {
  IntList order;
  for (int dim = 0; dim < rank; ++dim) order.Append(dim);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

/// A call from Python.
class Call : public OverrideCall {
 public:
  explicit Call(const OverrideCallable& function)
      : OverrideCall(function, /*may_widen=*/function.ordinary.results.empty()) {}

  /// Whether the op can take it as it is. The Python error indicator may be set if not.
  bool Read(PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
    const std::vector<Parameter>& parameters = function_.callable.parameters;
    size_t next = 0;
    for (Py_ssize_t i = 0; i < num_positional; ++i) {
      if (const Constant* constant = function_.ConstantAt(i)) {
        if (!TakeConstant(*constant, args[i])) return false;
        continue;
      }
      const size_t at = function_.ParameterAt(i, next);
      if (at == parameters.size() || !ReadOne(at, Chosen(i, args[i]))) return false;
      read_.given.set(at);
    }
    const Py_ssize_t num_named = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t n = 0; n < num_named; ++n) {
      PyObject* name = PyTuple_GetItem(names, n);
      PyObject* value = args[num_positional + n];
      if (function_.target == Target::kOut && PyUnicode_Compare(name, function_.out_name) == 0) {
        out_ = value;
        continue;
      }
      if (function_.TakesKey() && PyUnicode_Compare(name, function_.generator_name) == 0) {
        generator_ = value;
        continue;
      }
      const size_t at = function_.callable.Find(name);
      if (at == parameters.size() || read_.given[at] || !ReadOne(at, value)) return false;
      read_.given.set(at);
    }
    if (!Complete()) return false;
    if (function_.ChangesFirst()) out_ = args[0];
    return true;
  }

  PyObject* Run() {
    Outputs outputs;
    const OpInfo& op = *function_.callable.op;
    const std::optional<DType> low = WidenedType();
    const Specs specs = low ? InferWidened(op, read_.Values(), *low) : op.infer(read_.Values());
    if (LeavesNoTerms(specs)) return nullptr;
    bool is_copied = false;
    if (specs.size == 0) {  // the op changes its first argument
      outputs.size = 1;
      outputs.objects[0] = nb::borrow(out_);
    } else if (function_.target == Target::kNew || !TakeTarget(specs, outputs)) {
      is_copied = function_.target != Target::kNew;
      if (is_copied && !target_fits_) return nullptr;
      Make(specs, outputs);
    }
    ReadKey(generator_);
    const CudaStreamScope stream(tensors_.Stream());
    std::optional<CudaNumbers> numbers;
    PutNumbers(numbers);
    repdl::Run(op, read_.Values(), outputs.Views().first(static_cast<size_t>(specs.size)), low);
    if (!TakeResults(outputs)) return nullptr;
    if (!is_copied) return outputs.Release();
    static PyObject* const copy = PyUnicode_InternFromString("copy_");
    PyObject* const arguments[] = {out_, outputs.objects[0].ptr()};
    return PyObject_VectorcallMethod(copy, arguments, 2, nullptr);
  }

 private:
  bool TakeConstant(const Constant& constant, PyObject* given) {
    switch (constant.kind) {
      case Constant::Kind::kAny: return true;
      case Constant::Kind::kDType: return TakeDType(DTypeOfObject(given));
      case Constant::Kind::kSize:
        return PyLong_Check(given) != 0 && IsSize(PyLong_AsSsize_t(given), constant.begin, constant.end);
      case Constant::Kind::kEqual: break;
    }
    return PyObject_RichCompareBool(given, constant.value, Py_EQ) == 1;
  }

  /// What the op calls the argument; itself, which the op will refuse, for a number that stands for nothing.
  PyObject* Chosen(Py_ssize_t place, PyObject* object) const {
    if (const Choice* choice = function_.ChoiceAt(place)) {
      const Py_ssize_t number = PyLong_AsSsize_t(object);
      if (number >= 0 && number < PyTuple_Size(choice->names)) return PyTuple_GetItem(choice->names, number);
    }
    return object;
  }

  bool ReadOne(size_t at, PyObject* object) {
    const Parameter& parameter = function_.callable.parameters[at];
    if (parameter.IsTensor() && object == Py_None && !parameter.info->IsOptional()) return false;
    if (!parameter.IsTensor() || object == Py_None) {
      ReadArgument(function_.callable, parameter, object, nullptr, read_.values[at]);
      return true;
    }
    // A truth value counts less than a number.
    const bool is_number = PyFloat_Check(object) || (PyLong_Check(object) && !PyBool_Check(object));
    if (function_.ordinary.pointwise && is_number) return ReadNumber(at, object);
    if (function_.ordinary.TakesPairs()) return ReadPairs(at, object);
    auto& view = read_.values[at].emplace<TensorView>();
    tensors_.Read(object, function_.callable.name.c_str(), parameter.c_name, parameter.kind == Kind::kMutatedTensor,
                  view);
    return tensors_.ReadsInPlace() && TakeTensor(at);  // tangents that are missing have no memory: see `dot`
  }

  /// A complex tensor, or a complex number among such.
  bool ReadPairs(size_t at, PyObject* object) {
    if (function_.ordinary.pointwise && PyComplex_Check(object)) {
      return TakeNumber(at, PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    }
    const Parameter& parameter = function_.callable.parameters[at];
    const auto view = tensors_.ReadPairs(object, function_.callable.name.c_str(), parameter.c_name);
    if (!view || !TakePairs(at, *view)) return false;
    // Other ops get no such views: torch's dispatcher resolves them.
    if (function_.Conjugates()) {
      read_.values[function_.conjugates_at + at] = IsConjugated(object);
      read_.given.set(function_.conjugates_at + at);
    }
    return true;
  }

  /// A Python number among tensors: a single float32, or float64 among those; or a pair of them.
  bool ReadNumber(size_t at, PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    if (PyErr_Occurred() != nullptr) return false;
    return PyLong_Check(object) ? TakeInteger(at, value) : TakeNumber(at, value, 0);
  }

  Result ResultOf(int output) const {
    const std::vector<Result>& results = function_.ordinary.results;
    return results.empty() ? Result::kSame : results[static_cast<size_t>(output)];
  }

  /// New outputs: tensors, or memory for what torch does not have as it is.
  void Make(const Specs& specs, Outputs& outputs) {
    if (function_.ordinary.results.empty()) {
      const IntList* order = order_of_strides_ ? &*order_of_strides_ : nullptr;
      return outputs.Make(tensors_, specs, order, function_.ordinary.GivesPairs());
    }
    outputs.size = specs.size;
    memory_.resize(static_cast<size_t>(specs.size));
    integers_.resize(static_cast<size_t>(specs.size));
    for (int i = 0; i < specs.size; ++i) {
      const TensorSpec& spec = specs.spec[i];
      TensorView& view = outputs.views[i];
      const Result result = ResultOf(i);
      if (result == Result::kSame) {
        outputs.objects[i] = tensors_.Make(spec, view);
        continue;
      }
      if (result == Result::kTransposed) {
        const IntList order = OrderOfTransposed(spec.shape.size());
        outputs.objects[i] = tensors_.Make(spec, view, &order);
        continue;
      }
      view = MakeView(nullptr, spec.dtype, spec.shape);
      constexpr auto kWord = static_cast<int64_t>(sizeof(int64_t));
      memory_[i].resize(static_cast<size_t>((view.numel() * ItemSize(view.dtype) + kWord - 1) / kWord));
      view.data = memory_[i].data();
      if (result == Result::kInt32) outputs.objects[i] = tensors_.Make({DType::kInt32, spec.shape}, integers_[i]);
    }
  }

  /// Fills the integers of torch, and keeps the outputs that it has. False for a call that is not an ordinary one.
  bool TakeResults(Outputs& outputs) {
    if (function_.ordinary.results.empty()) return true;
    int kept = 0;
    if (memory_.empty()) return true;  // the target has the result
    for (int i = 0; i < outputs.size; ++i) {
      const Result result = ResultOf(i);
      const std::vector<int64_t>& numbers = memory_[i];
      if (result == Result::kZeros && std::ranges::any_of(numbers, [](int64_t n) { return n != 0; })) return false;
      if (result == Result::kInt32) {
        std::ranges::transform(numbers, integers_[i].Data<int32_t>(),
                               [](int64_t n) { return static_cast<int32_t>(n); });
      }
      if (result == Result::kZeros || result == Result::kLeftOut) continue;
      if (kept != i) outputs.objects[kept] = std::move(outputs.objects[i]);
      ++kept;
    }
    outputs.size = kept;
    return true;
  }

  /// Whether the tensor given for the result is just what the op would make. If only its strides are not, or it overlaps
  /// an operand, it fits as what a result can be copied to.
  bool TakeTarget(const Specs& specs, Outputs& outputs) {
    if (specs.size != 1 || out_ == nullptr) return false;
    TensorView view;
    if (function_.ordinary.GivesPairs()) {
      const auto pairs = tensors_.ReadPairs(out_, function_.callable.name.c_str(), "out");
      if (!pairs || (function_.Conjugates() && IsConjugated(out_))) return false;
      view = *pairs;
    } else if (const auto* first = std::get_if<TensorView>(&read_.values[0]); first != nullptr && IsTargetAsRead()) {
      view = *first;
    } else {
      tensors_.Read(out_, function_.callable.name.c_str(), "out", /*writable=*/true, view);
    }
    if (!ArrangeTarget(specs, view)) return false;
    outputs.size = 1;
    outputs.views[0] = view;
    outputs.objects[0] = nb::borrow(out_);
    return true;
  }

  /// Whether the target is the first argument, of which the op has a view of all that it is.
  bool IsTargetAsRead() const {
    return function_.target == Target::kFirstArgument && tensors_.ReadsInPlace() && !order_of_strides_ &&
           !function_.transposed[0];
  }

  Tensors tensors_{/*below_dispatcher=*/true};
  // Of each output, where torch has not just these.
  std::vector<std::vector<int64_t>> memory_;
  std::vector<TensorView> integers_;
  // Borrowed.
  PyObject* out_ = nullptr;
  PyObject* generator_ = nullptr;
};

PyObject* CallFromPython(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& function = *static_cast<const OverrideCallable*>(PyCapsule_GetPointer(self, nullptr));
  try {
    Call call(function);
    if (call.Read(args, num_positional, names)) {
      if (PyObject* result = call.Run()) return result;
      if (PyErr_Occurred() != nullptr) return nullptr;
    }
    // A call that the op refuses goes to the fallback too, which knows torch's own errors. All else that goes wrong,
    // such as a lack of memory or an interrupt, would there be done twice or forgotten.
  } catch (const std::invalid_argument&) {  // TypeError and ValueError among them
  } catch (const NotImplementedError&) {
  } catch (...) {
    SetPythonErrorFromException();
    return nullptr;
  }
  PyErr_Clear();
  return PyObject_Vectorcall(function.fallback, args, static_cast<size_t>(num_positional), names);
}

struct ForReals {
  PyObject* boxed;
  PyObject* keys;
  PyObject* fallback;
};

PyObject* CallForReals(PyObject* self, PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
  const auto& function = *static_cast<const ForReals*>(PyCapsule_GetPointer(self, nullptr));
  const Py_ssize_t count = num_positional + (names == nullptr ? 0 : PyTuple_Size(names));
  PyObject* given[4] = {function.keys};
  bool all_real = count < static_cast<Py_ssize_t>(std::size(given));
  for (Py_ssize_t i = 0; all_real && i < count; ++i) all_real = IsRealTensor(given[1 + i] = args[i]);
  if (!all_real) return PyObject_Vectorcall(function.fallback, args, static_cast<size_t>(num_positional), names);
  return PyObject_Vectorcall(function.boxed, given, static_cast<size_t>(num_positional) + 1, names);
}

}  // namespace

nb::object MakeForReals(const nb::object& boxed, const nb::object& keys, const nb::object& fallback) {
  // It and the objects that it holds live as long as the process.
  auto* function = new ForReals{boxed.inc_ref().ptr(), keys.inc_ref().ptr(), fallback.inc_ref().ptr()};
  return MakeFunction("for_reals", &CallForReals, function);
}

Constant MakeConstant(Py_ssize_t place, PyObject* said) {
  using Kind = Constant::Kind;
  Constant constant{place, Kind::kEqual, said, 0, 0};
  if (said == Py_Ellipsis) {
    constant.kind = Kind::kAny;
  } else if (PyType_Check(said) != 0) {
    constant.kind = Kind::kDType;
  } else if (PySlice_Check(said)) {
    Py_ssize_t step;
    constant.kind = Kind::kSize;
    if (PySlice_Unpack(said, &constant.begin, &constant.end, &step) != 0) throw nb::python_error();
  }
  return constant;
}

nb::object MakeOverrideCallable(const OpInfo& op, Target target, const Ordinary& ordinary, const nb::object& fallback) {
  Callable callable(op);
  const auto find = [&](const char* argument) { return callable.Find(PyUnicode_InternFromString(argument)); };
  const size_t order_at = find("order"), key_at = find("seed"), conjugates_at = find("conjA");
  const size_t last_dims_at = find(ordinary.last_dims.c_str());
  const size_t below_terms_at = find(ordinary.below_terms.c_str());
  std::bitset<kMaxArgs> transposed;
  for (const std::string& argument : ordinary.transposed) transposed.set(find(argument.c_str()));
  std::bitset<kMaxArgs> moved;
  for (const Moved& argument : ordinary.moved) moved.set(callable.Find(argument.name));
  // It and the objects that it holds live as long as the process.
  auto* function = new OverrideCallable{std::move(callable),
                                        target,
                                        ordinary,
                                        fallback.inc_ref().ptr(),
                                        PyUnicode_InternFromString("out"),
                                        PyUnicode_InternFromString("generator"),
                                        order_at,
                                        key_at,
                                        transposed,
                                        moved,
                                        conjugates_at,
                                        last_dims_at,
                                        below_terms_at};
  for (const Constant& constant : ordinary.constants) Py_INCREF(constant.value);
  for (const Choice& choice : ordinary.choices) Py_INCREF(choice.names);
  for (const Moved& argument : ordinary.moved) Py_INCREF(argument.name);
  return MakeFunction(function->callable.name.c_str(), &CallFromPython, function);
}

void SetOrderSource(nb::object source) { order_source = source.release().ptr(); }

void SetHasKeys(bool has) { has_keys = has; }

bool HasKeys() { return has_keys; }

void SetDefaultOrder(std::string_view order) { default_order = ParseOrder(order); }

Order CurrentOrder() {
  if (order_source == nullptr) return default_order;
  const nb::gil_scoped_acquire gil;
  const nb::object order = nb::steal(PyObject_CallNoArgs(order_source));
  if (!order.is_valid()) throw nb::python_error();
  return order.is_none() ? default_order.load() : ParseOrder(nb::cast<std::string_view>(order));
}

const OverrideCallable* OverrideOf(PyObject* function) {
  if (PyCFunction_Check(function) == 0 ||
      PyCFunction_GetFunction(function) != reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(&CallFromPython))) {
    return nullptr;
  }
  return static_cast<const OverrideCallable*>(PyCapsule_GetPointer(PyCFunction_GetSelf(function), nullptr));
}

}  // namespace repdl
