// SPDX-License-Identifier: MIT
#include "override_callable.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "callable.h"
#include "layout.h"
#include "random_key.h"
#include "repdl/error.h"

namespace nb = nanobind;

namespace repdl {
namespace {

PyObject* order_source = nullptr;  // never freed
Order default_order = Order::kBlocked;
bool has_keys = true;

struct OverrideCallable {
  Callable callable;
  Target target;
  Ordinary ordinary;
  PyObject* fallback;
  PyObject* out_name;
  PyObject* generator_name;
  // Where the argument `order` is, and where `seed` with `call` behind it; the number of parameters if there is none.
  size_t order_at;
  size_t key_at;
  std::bitset<kMaxArgs> transposed;
  // Where the op is told whether to conjugate its first tensor, with the same of the second behind it; likewise.
  size_t conjugates_at;

  bool IsKey(size_t at) const { return at == key_at || at == key_at + 1; }
  bool Conjugates() const { return conjugates_at < callable.parameters.size(); }
};

/// The last two dimensions change places.
void Transpose(TensorView& view) {
  const int last = view.rank() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
}

/// For Tensors::Make, of transposed matrices.
IntList OrderOfTransposed(int rank) {
  IntList order;
  for (int dim = 0; dim < rank; ++dim) order.Append(dim);
  std::swap(order[rank - 1], order[rank - 2]);
  return order;
}

/// A call that the op can take as it is.
class Call {
 public:
  explicit Call(const OverrideCallable& function) : function_(function), read_(function.callable) {}

  /// Whether it is one. The Python error indicator may be set if not.
  bool Read(PyObject* const* args, Py_ssize_t num_positional, PyObject* names) {
    const std::vector<Parameter>& parameters = function_.callable.parameters;
    size_t next = 0;
    for (Py_ssize_t i = 0; i < num_positional; ++i) {
      if (const Constant* constant = ConstantAt(i)) {
        const bool may_be_any = constant->value == Py_Ellipsis;
        if (!may_be_any && PyObject_RichCompareBool(args[i], constant->value, Py_EQ) != 1) return false;
        continue;
      }
      while (function_.IsKey(next) && next < parameters.size()) ++next;
      if (next == parameters.size() || !ReadOne(next, Chosen(i, args[i]))) return false;
      read_.given.set(next++);
    }
    const Py_ssize_t num_named = names == nullptr ? 0 : PyTuple_Size(names);
    for (Py_ssize_t n = 0; n < num_named; ++n) {
      PyObject* name = PyTuple_GetItem(names, n);
      PyObject* value = args[num_positional + n];
      if (function_.target == Target::kOut && PyUnicode_Compare(name, function_.out_name) == 0) {
        out_ = value;
        continue;
      }
      if (function_.key_at < parameters.size() && PyUnicode_Compare(name, function_.generator_name) == 0) {
        generator_ = value;
        continue;
      }
      const size_t at = function_.callable.Find(name);
      if (at == parameters.size() || read_.given[at] || !ReadOne(at, value)) return false;
      read_.given.set(at);
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      if (read_.given[i]) continue;
      if (i == function_.order_at) {
        read_.values[i] = Name(CurrentOrder());
      } else if (function_.IsKey(i)) {
        read_.values[i] = int64_t{0};  // until the call is known to be a right one: a key is taken once
      } else if (parameters[i].info->default_value) {
        read_.values[i] = *parameters[i].info->default_value;
      } else {
        return false;
      }
    }
    if (!dtype_ || (function_.key_at < parameters.size() && !has_keys)) return false;
    if (function_.target == Target::kFirstArgument || function_.callable.op->num_outputs == 0) out_ = args[0];
    // Beside single numbers of a low precision, a Python number would count in the type of the result.
    const bool is_double = *dtype_ == DType::kFloat64;
    if (num_numbers_ > 0 && all_single_ && *dtype_ != DType::kFloat32 && !is_double) return false;
    const IntList shape_of_number = function_.ordinary.TakesPairs() ? IntList{2} : IntList{};
    for (size_t i = 0; i < num_numbers_; ++i) {
      auto& [at, parts, as_floats] = numbers_[i];
      for (int part = 0; part < 2; ++part) as_floats[part] = static_cast<float>(parts[part]);
      void* data = is_double ? static_cast<void*>(parts) : as_floats;
      read_.values[at] = MakeView(data, is_double ? DType::kFloat64 : DType::kFloat32, shape_of_number);
    }
    if (function_.ordinary.contiguous && !all_contiguous_) return false;
    if (function_.ordinary.pointwise && !all_contiguous_) order_of_strides_ = OrderOfStrides(read_.Values());
    if (order_of_strides_) {
      for (size_t i = 0; i < read_.size; ++i) {
        auto* tensor = std::get_if<TensorView>(&read_.values[i]);
        if (tensor != nullptr) *tensor = Arranged(*tensor, *order_of_strides_);
      }
      // Nothing steps less than from part to part of a pair: their dimension is the last.
      if (function_.ordinary.numbers == Numbers::kComplexToReal) {
        order_of_strides_ = IntList(std::span(order_of_strides_->begin(), order_of_strides_->end() - 1));
      }
    }
    return true;
  }

  PyObject* Run() {
    Outputs outputs;
    const OpInfo& op = *function_.callable.op;
    const Specs specs = op.infer(read_.Values());
    bool is_copied = false;
    if (specs.size == 0) {  // the op changes its first argument
      outputs.size = 1;
      outputs.objects[0] = nb::borrow(out_);
    } else if (function_.target == Target::kNew || !TakeTarget(specs, outputs)) {
      is_copied = function_.target != Target::kNew;
      if (is_copied && !target_fits_) return nullptr;
      Make(specs, outputs);
    }
    if (function_.key_at < read_.size) ReadKey();
    repdl::Run(op, read_.Values(), tensors_, outputs.Views().first(static_cast<size_t>(specs.size)));
    if (!TakeResults(outputs)) return nullptr;
    if (!is_copied) return outputs.Release();
    static PyObject* const copy = PyUnicode_InternFromString("copy_");
    PyObject* const arguments[] = {out_, outputs.objects[0].ptr()};
    return PyObject_VectorcallMethod(copy, arguments, 2, nullptr);
  }

 private:
  /// What the op calls the argument; itself, which the op will refuse, for a number that stands for nothing.
  PyObject* Chosen(Py_ssize_t place, PyObject* object) const {
    for (const Choice& choice : function_.ordinary.choices) {
      if (choice.place != place) continue;
      const Py_ssize_t number = PyLong_AsSsize_t(object);
      if (number >= 0 && number < PyTuple_Size(choice.names)) return PyTuple_GetItem(choice.names, number);
    }
    return object;
  }

  const Constant* ConstantAt(Py_ssize_t place) const {
    for (const Constant& constant : function_.ordinary.constants) {
      if (constant.place == place) return &constant;
    }
    return nullptr;
  }

  void ReadKey() {
    const auto [seed, call] = DrawKey(generator_);
    read_.values[function_.key_at] = seed;
    read_.values[function_.key_at + 1] = call;
  }

  bool ReadOne(size_t at, PyObject* object) {
    const Parameter& parameter = function_.callable.parameters[at];
    if (parameter.IsTensor() && object == Py_None && !parameter.info->IsOptional()) return false;
    if (!parameter.IsTensor() || object == Py_None) {
      ReadArgument(function_.callable, parameter, object, nullptr, read_.values[at]);
      return true;
    }
    if (function_.ordinary.pointwise && (PyFloat_Check(object) || PyLong_Check(object))) return ReadNumber(at, object);
    if (function_.ordinary.TakesPairs()) return ReadPairs(at, object);
    auto& view = read_.values[at].emplace<TensorView>();
    tensors_.Read(object, function_.callable.name.c_str(), parameter.c_name, parameter.kind == Kind::kMutatedTensor,
                  view);
    const bool is_integer = view.dtype == DType::kInt64 || view.dtype == DType::kInt32;
    const bool is_index = dtype_ && is_integer && !function_.ordinary.pointwise;
    if (is_index && view.device.type == DeviceType::kCpu) return true;
    if (!dtype_) dtype_ = view.dtype;
    const bool is_low = view.dtype == DType::kBFloat16 || view.dtype == DType::kFloat16;
    if (view.dtype != *dtype_ || !function_.callable.op->dtypes.Has(view.dtype)) return false;
    if (is_low && !function_.ordinary.low) return false;
    if (function_.ordinary.rank != 0 && view.rank() != function_.ordinary.rank) return false;
    if (view.device.type != DeviceType::kCpu) return false;
    all_contiguous_ = all_contiguous_ && view.IsContiguous();
    all_single_ = all_single_ && view.rank() == 0;
    if (function_.transposed[at] && view.rank() < 2) return false;
    if (function_.transposed[at]) Transpose(view);
    return true;
  }

  /// A complex tensor, or a complex number among such.
  bool ReadPairs(size_t at, PyObject* object) {
    if (function_.ordinary.pointwise && PyComplex_Check(object)) {
      return TakeNumber(at, PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object));
    }
    const Parameter& parameter = function_.callable.parameters[at];
    const auto view = tensors_.ReadPairs(object, function_.callable.name.c_str(), parameter.c_name);
    if (!view || (dtype_ && view->dtype != *dtype_) || view->device.type != DeviceType::kCpu) return false;
    if (function_.ordinary.rank != 0 && view->rank() != function_.ordinary.rank + 1) return false;
    dtype_ = view->dtype;
    all_contiguous_ = all_contiguous_ && view->IsContiguous();
    all_single_ = all_single_ && view->rank() == 1;
    read_.values[at] = *view;
    // Other ops get no such views: torch's dispatcher resolves them.
    if (function_.Conjugates()) {
      read_.values[function_.conjugates_at + at] = IsConjugated(object);
      read_.given.set(function_.conjugates_at + at);
    }
    return true;
  }

  bool TakeNumber(size_t at, double real, double imaginary) {
    if (num_numbers_ == std::size(numbers_)) return false;
    numbers_[num_numbers_++] = {at, {real, imaginary}, {}};
    return true;
  }

  /// A Python number among tensors: a single float32, or float64 among those; or a pair of them.
  bool ReadNumber(size_t at, PyObject* object) {
    const double value = PyFloat_AsDouble(object);
    constexpr double kExact = 9007199254740992.0;  // integers up to here are doubles
    if (PyErr_Occurred() != nullptr || (PyLong_Check(object) && !(value < kExact && value > -kExact))) return false;
    return TakeNumber(at, value, 0);
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
    if (order_of_strides_ && view.rank() != order_of_strides_->size()) return false;
    if (order_of_strides_) view = Arranged(view, *order_of_strides_);
    if (ResultOf(0) == Result::kTransposed && view.rank() >= 2) Transpose(view);
    target_fits_ = view.dtype == specs.spec[0].dtype && view.shape == specs.spec[0].shape;
    if (!target_fits_ || !view.IsContiguous()) return false;
    for (const Value& value : read_.Values()) {
      const auto* input = std::get_if<TensorView>(&value);
      if (input == nullptr || !MayOverlap(*input, view)) continue;
      // Element by element, a result may take the place of its operand.
      const bool may = function_.ordinary.pointwise ||
                       (function_.ordinary.in_place && &value == &read_.values[0] && input->IsContiguous());
      if (!may || input->data != view.data || !(input->shape == view.shape)) return false;
    }
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

  static bool MayOverlap(const TensorView& a, const TensorView& b) {
    const auto [a0, a1] = Extent(a);
    const auto [b0, b1] = Extent(b);
    return a0 < b1 && b0 < a1;
  }

  static std::pair<intptr_t, intptr_t> Extent(const TensorView& view) {
    const int64_t item = ItemSize(view.dtype);
    auto first = reinterpret_cast<intptr_t>(view.data), last = first;
    if (view.numel() == 0) return {first, first};
    for (int d = 0; d < view.rank(); ++d) {
      (view.strides[d] < 0 ? first : last) += (view.shape[d] - 1) * view.strides[d] * item;
    }
    return {first, last + item};
  }

  const OverrideCallable& function_;
  Tensors tensors_{/*below_dispatcher=*/true};
  Arguments read_;
  std::optional<DType> dtype_;
  bool all_contiguous_ = true;
  bool all_single_ = true;
  std::optional<IntList> order_of_strides_;
  // Of each output, where torch has not just these.
  std::vector<std::vector<int64_t>> memory_;
  std::vector<TensorView> integers_;
  bool target_fits_ = false;
  struct {
    size_t at;
    double parts[2];  // of which a real number has the first alone
    float as_floats[2];
  } numbers_[3];
  size_t num_numbers_ = 0;
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

nb::object MakeOverrideCallable(const OpInfo& op, Target target, const Ordinary& ordinary, const nb::object& fallback) {
  Callable callable(op);
  const auto find = [&](const char* argument) { return callable.Find(PyUnicode_InternFromString(argument)); };
  const size_t order_at = find("order"), key_at = find("seed"), conjugates_at = find("conjA");
  std::bitset<kMaxArgs> transposed;
  for (const std::string& argument : ordinary.transposed) transposed.set(find(argument.c_str()));
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
                                        conjugates_at};
  for (const Constant& constant : ordinary.constants) Py_INCREF(constant.value);
  for (const Choice& choice : ordinary.choices) Py_INCREF(choice.names);
  return MakeFunction(function->callable.name.c_str(), &CallFromPython, function);
}

void SetOrderSource(nb::object source) { order_source = source.release().ptr(); }

void SetHasKeys(bool has) { has_keys = has; }

void SetDefaultOrder(std::string_view order) { default_order = ParseOrder(order); }

Order CurrentOrder() {
  if (order_source == nullptr) return default_order;
  const nb::object order = nb::steal(PyObject_CallNoArgs(order_source));
  if (!order.is_valid()) throw nb::python_error();
  return order.is_none() ? default_order : ParseOrder(nb::cast<std::string_view>(order));
}

}  // namespace repdl
