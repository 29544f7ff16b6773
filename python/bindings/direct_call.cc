// SPDX-License-Identifier: MIT
#include "direct_call.h"

#include <algorithm>

#include "drivers/widened_op.h"
#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

using Use = DirectPlan::Use;

class DirectCall : public OverrideCall {
 public:
  DirectCall(const OverrideCallable& function, const TorchSignature& signature, const DirectPlan& plan)
      : OverrideCall(function, /*may_widen=*/true), signature_(signature), plan_(plan) {}

  bool Read(std::span<TorchValue> given) {
    const size_t num_positional = CountPositional(signature_, given);
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const TorchArgument& argument = signature_.arguments[i];
      const bool is_given = i < signature_.num_positional ? i < num_positional : !IsDefault(argument, given[i]);
      if (is_given && !Take(plan_.steps[i], argument, given[i])) return false;
    }
    return Complete();
  }

  bool Run(std::span<TorchValue> given, size_t num_results, DirectResults& results) {
    const OpInfo& op = *function_.callable.op;
    const std::optional<DType> low = WidenedType();
    const Specs specs = low ? InferWidened(op, read_.Values(), *low) : op.infer(read_.Values());
    if (LeavesNoTerms(specs)) return false;
    const auto size = static_cast<size_t>(specs.size);
    std::array<TensorView, kMaxOutputs> views;
    if (function_.ChangesFirst() || function_.target == Target::kOut) {
      if (num_results != 1 || !FindTarget(specs, given, views[0])) return false;
      results.argument = plan_.target;
    } else if (num_results != size || !Make(specs, views, results)) {
      return false;
    }
    const std::span<const TensorView> outputs(views.data(), size);
    if (!TakeKey()) return false;
    RunOutside(op, read_.Values(), outputs, low);
    return true;
  }

 private:
  bool Take(const DirectPlan::Step& step, const TorchArgument& argument, TorchValue& given) {
    switch (step.use) {
      case Use::kParameter: read_.given.set(step.at); return TakeParameter(step, argument, given);
      case Use::kConstant: return TakeConstant(*step.constant, step.equal, given);
      case Use::kOut: return true;
      default: return false;  // of a generator too: in an ordinary call it is the default one
    }
  }

  bool TakeConstant(const Constant& constant, const Value& equal, TorchValue& given) {
    Value value;
    const bool is_integer = given.tag == TorchValue::Tag::kInt;
    switch (constant.kind) {
      case Constant::Kind::kAny: return true;
      case Constant::Kind::kDType: return is_integer && TakeDType(DTypeOfCode(static_cast<int64_t>(given.word)));
      case Constant::Kind::kSize:
        return is_integer && IsSize(static_cast<int64_t>(given.word), constant.begin, constant.end);
      case Constant::Kind::kEqual: break;
    }
    return ReadValue(given, value) && AreEqual(value, equal);
  }

  bool TakeParameter(const DirectPlan::Step& step, const TorchArgument& argument, TorchValue& given) {
    const Parameter& parameter = function_.callable.parameters[step.at];
    Value& value = read_.values[step.at];
    if (argument.is_tensor) {
      const TensorHandle tensor = TensorIn(given);
      if (tensor != nullptr) return TakeTensorOrNumber(step.at, tensor);
      value = std::monostate();
      return parameter.info->IsOptional();
    }
    if (!ReadValue(given, value)) return false;
    if (std::holds_alternative<std::monostate>(value)) return parameter.info->IsOptional();
    const auto* number = std::get_if<int64_t>(&value);
    switch (parameter.kind) {
      case Kind::kBool: return std::holds_alternative<bool>(value);
      case Kind::kInt: return number != nullptr;
      case Kind::kFloat: {
        if (number != nullptr) value = static_cast<double>(*number);
        return std::holds_alternative<double>(value);
      }
      case Kind::kIntList: {
        if (number != nullptr) value = IntList{*number};
        return std::holds_alternative<IntList>(value);
      }
      case Kind::kPair: {
        const auto* list = std::get_if<IntList>(&value);
        return number != nullptr || (list != nullptr && (list->size() == 1 || list->size() == 2));
      }
      case Kind::kString: {
        if (number == nullptr || static_cast<uint64_t>(*number) >= step.names.size()) return false;
        value = step.names[static_cast<size_t>(*number)];
        return true;
      }
      case Kind::kTensor: {
        if (!function_.ordinary.pointwise) return false;
        if (number != nullptr) return TakeInteger(step.at, static_cast<double>(*number));
        const auto* const real = std::get_if<double>(&value);
        return real != nullptr && TakeNumber(step.at, *real, 0);
      }
      default: return false;
    }
  }

  /// Among tensors of some dimensions and a type that is not rounded to in the end, one of none counts as its number does,
  /// be it a Python number or not.
  bool TakeTensorOrNumber(size_t at, TensorHandle tensor) {
    auto& view = read_.values[at].emplace<TensorView>();
    const bool takes_pairs = function_.ordinary.TakesPairs();
    if (!ReadTensorAt(tensor, takes_pairs, view)) return false;
    if (takes_pairs) return TakePairs(at, TensorView(view));
    const bool is_wide = dtype_ && (*dtype_ == DType::kFloat32 || *dtype_ == DType::kFloat64);
    const bool may = is_wide && function_.ordinary.pointwise && !function_.ordinary.alike && !all_single_;
    const bool is_number = may && view.rank() == 0 && view.dtype != *dtype_;
    if (is_number && view.dtype == DType::kFloat64) return TakeNumber(at, *view.Data<const double>(), 0);
    if (is_number && view.dtype == DType::kInt64)
      return TakeInteger(at, static_cast<double>(*view.Data<const int64_t>()));
    return TakeTensor(at);
  }

  static bool ReadTensorAt(TensorHandle tensor, bool as_pairs, TensorView& view) {
    return ReadHandle(tensor, view, as_pairs) && (view.data != nullptr || view.numel() == 0) && !IsMisaligned(view);
  }

  /// The tensor for the result, which the op may change as its first argument.
  bool FindTarget(const Specs& specs, std::span<TorchValue> given, TensorView& view) {
    if (specs.size == 0) return true;
    const TensorHandle tensor = TensorIn(given[plan_.target]);
    return specs.size == 1 && tensor != nullptr && ReadTensorAt(tensor, function_.ordinary.GivesPairs(), view) &&
           ArrangeTarget(specs, view);
  }

  bool Make(const Specs& specs, std::array<TensorView, kMaxOutputs>& views, DirectResults& results) const {
    for (int i = 0; i < specs.size; ++i) {
      const TensorSpec& spec = specs.spec[i];
      const bool pairs = function_.ordinary.GivesPairs();
      const Placement placed = PlacementOf(spec, order_of_strides_ ? *order_of_strides_ : IntList(), pairs);
      void* data = nullptr;
      results.made[i] = NewHandle(spec.dtype, pairs, placed.shape, placed.strides, Device(), data);
      if (results.made[i] == nullptr) return false;
      views[i] = MakeView(data, spec.dtype, spec.shape);
    }
    return true;
  }

  bool TakeKey() {
    if (!DrawsKey()) return true;
    const nb::gil_scoped_acquire gil;
    try {
      ReadKey(nullptr);
    } catch (const PythonError&) {  // which it raises again when it is called from Python
      PyErr_Clear();
      return false;
    }
    return true;
  }

  const TorchSignature& signature_;
  const DirectPlan& plan_;
};

}  // namespace

size_t CountPositional(const TorchSignature& signature, std::span<const TorchValue> given) {
  size_t count = signature.num_positional;
  while (count > 0 && IsDefault(signature.arguments[count - 1], given[count - 1])) --count;
  return count;
}

std::optional<DirectPlan> MakeDirectPlan(const OverrideCallable& function, const TorchSignature& signature) {
  if (function.Conjugates() || !function.ordinary.results.empty()) return std::nullopt;
  const size_t num_parameters = function.callable.parameters.size();
  DirectPlan plan;
  size_t next = 0;
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    const PyObject* const name = signature.arguments[i].name;
    DirectPlan::Step& step = plan.steps.emplace_back();
    const auto place = static_cast<Py_ssize_t>(i);
    if (name == nullptr) {
      if (const Constant* constant = function.ConstantAt(place)) {
        step.use = Use::kConstant;
        step.constant = constant;
        if (constant->kind != Constant::Kind::kEqual) continue;
        const std::optional<Value> value = ValueOfObject(constant->value);
        if (!value) return std::nullopt;
        step.equal = *value;
        continue;
      }
      step.at = function.ParameterAt(place, next);
    } else if (PyUnicode_Compare(signature.arguments[i].name, function.out_name) == 0) {
      step.use = Use::kOut;
      plan.target = i;
      continue;
    } else if (PyUnicode_Compare(signature.arguments[i].name, function.generator_name) == 0) {
      step.use = Use::kGenerator;
      continue;
    } else {
      step.at = function.callable.Find(signature.arguments[i].name);
    }
    if (step.at >= num_parameters) continue;
    step.use = Use::kParameter;
    const Choice* const choice = name == nullptr ? function.ChoiceAt(place) : nullptr;
    for (Py_ssize_t n = 0; choice != nullptr && n < PyTuple_Size(choice->names); ++n) {
      step.names.emplace_back(PyUnicode_AsUTF8AndSize(PyTuple_GetItem(choice->names, n), nullptr));
    }
  }
  return plan;
}

DirectResults::~DirectResults() {
  for (TensorHandle tensor : made) {
    if (tensor != nullptr) DeleteHandle(tensor);
  }
}

bool CallDirectly(const OverrideCallable& function, const TorchSignature& signature, const DirectPlan& plan,
                  std::span<TorchValue> given, size_t num_results, DirectResults& results) {
  // What the op refuses, and whatever else goes wrong, is told by the call from Python that comes then.
  try {
    DirectCall call(function, signature, plan);
    return call.Read(given) && call.Run(given, num_results, results);
  } catch (...) {
    return false;
  }
}

}  // namespace repdl
