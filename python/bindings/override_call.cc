// SPDX-License-Identifier: MIT
#include "override_call.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "layout.h"
#include "random_key.h"

namespace repdl {
namespace {

std::pair<intptr_t, intptr_t> Extent(const TensorView& view) {
  const int64_t item = ItemSize(view.dtype);
  auto first = reinterpret_cast<intptr_t>(view.data), last = first;
  if (view.numel() == 0) return {first, first};
  for (int d = 0; d < view.rank(); ++d) {
    (view.strides[d] < 0 ? first : last) += (view.shape[d] - 1) * view.strides[d] * item;
  }
  return {first, last + item};
}

bool MayOverlap(const TensorView& a, const TensorView& b) {
  const auto [a0, a1] = Extent(a);
  const auto [b0, b1] = Extent(b);
  return a0 < b1 && b0 < a1;
}

template <class Entry>
const Entry* EntryAt(const std::vector<Entry>& entries, Py_ssize_t place) {
  const auto found = std::ranges::find(entries, place, &Entry::place);
  return found == entries.end() ? nullptr : &*found;
}

/// Whether torch takes it for a tensor in channels-last format, as it does by the steps. A row-major one with one channel, or
/// one number in each, may have these in dimensions of size 1.
bool IsChannelsLast(const TensorView& view) {
  if ((view.rank() != 4 && view.rank() != 5) || view.strides[1] == 0) return false;
  int64_t least = 0;
  const auto follows = [&](int dim) {
    const bool does = view.shape[dim] != 0 && view.strides[dim] >= least;
    least = view.strides[dim] * view.shape[dim];
    return does;
  };
  if (!follows(1)) return false;
  for (int dim = view.rank() - 1; dim > 1; --dim) {
    if (!follows(dim)) return false;
  }
  return least != view.strides[1] && follows(0);
}

}  // namespace

void Transpose(TensorView& view) {
  const int last = view.rank() - 1;
  std::swap(view.shape[last], view.shape[last - 1]);
  std::swap(view.strides[last], view.strides[last - 1]);
}

const Constant* OverrideCallable::ConstantAt(Py_ssize_t place) const { return EntryAt(ordinary.constants, place); }

const Choice* OverrideCallable::ChoiceAt(Py_ssize_t place) const { return EntryAt(ordinary.choices, place); }

size_t OverrideCallable::ParameterAt(Py_ssize_t place, size_t& next) const {
  if (const Moved* argument = EntryAt(ordinary.moved, place)) return callable.Find(argument->name);
  while (next < callable.parameters.size() && (IsKey(next) || moved[next])) ++next;
  return next < callable.parameters.size() ? next++ : next;
}

bool OverrideCall::TakeDevice(const TensorView& view) {
  if (device_) return view.device == *device_;
  device_ = view.device;
  if (view.device.type == DeviceType::kCpu) return true;
  // Results that torch has otherwise are converted in memory of the host.
  return view.device.type == DeviceType::kCuda && function_.callable.op->HasCuda() &&
         function_.ordinary.results.empty();
}

bool OverrideCall::TakeTensor(size_t at) {
  auto& view = std::get<TensorView>(read_.values[at]);
  if (!TakeDevice(view)) return false;
  const bool is_integer = view.dtype == DType::kInt64 || view.dtype == DType::kInt32;
  if (dtype_ && is_integer && !function_.ordinary.pointwise) return true;  // an index
  if (!dtype_) dtype_ = view.dtype;
  if (view.dtype != *dtype_) return false;
  const bool is_low = IsLow(view.dtype);
  if (is_low && !function_.ordinary.low) return false;
  const OpInfo& op = *function_.callable.op;
  if (!op.dtypes.Has(view.dtype)) {
    // Not of an op that changes an argument: that would be a copy.
    const bool widens = is_low && may_widen_ && op.num_outputs > 0 && device_->type == DeviceType::kCpu;
    if (!widens || !op.dtypes.Has(DType::kFloat32)) return false;
  }
  if (function_.ordinary.rank != 0 && view.rank() != function_.ordinary.rank) return false;
  all_contiguous_ = all_contiguous_ && view.IsContiguous() && !(function_.ordinary.contiguous && IsChannelsLast(view));
  all_single_ = all_single_ && view.rank() == 0;
  if (function_.transposed[at] && view.rank() < 2) return false;
  if (function_.transposed[at]) Transpose(view);
  return true;
}

bool OverrideCall::TakePairs(size_t at, const TensorView& view) {
  if ((dtype_ && view.dtype != *dtype_) || !TakeDevice(view)) return false;
  if (function_.ordinary.rank != 0 && view.rank() != function_.ordinary.rank + 1) return false;
  dtype_ = view.dtype;
  all_contiguous_ = all_contiguous_ && view.IsContiguous();
  all_single_ = all_single_ && view.rank() == 1;
  read_.values[at] = view;
  return true;
}

bool OverrideCall::TakeNumber(size_t at, double real, double imaginary) {
  if (num_numbers_ == std::size(numbers_)) return false;
  numbers_[num_numbers_++] = {at, {real, imaginary}, {}};
  return true;
}

bool OverrideCall::TakeInteger(size_t at, double value) {
  constexpr double kExact = 9007199254740992.0;  // integers up to here are doubles
  return value < kExact && value > -kExact && TakeNumber(at, value, 0);
}

bool OverrideCall::TakeDType(std::optional<DType> dtype) {
  asked_dtype_ = dtype;
  return dtype.has_value();
}

bool OverrideCall::IsSize(int64_t number, int64_t begin, int64_t end) const {
  const auto* first = std::get_if<TensorView>(&read_.values[0]);
  if (first == nullptr) return false;
  int64_t size = 1;
  for (int64_t dim = begin; dim < std::min<int64_t>(end, first->rank()); ++dim) {
    size *= first->shape[static_cast<int>(dim)];
  }
  return number == size;
}

bool OverrideCall::LeavesNoTerms(const Specs& specs) const {
  if (function_.below_terms_at >= read_.size) return false;
  const auto* correction = std::get_if<double>(&read_.values[function_.below_terms_at]);
  const auto* first = std::get_if<TensorView>(&read_.values[0]);
  if (correction == nullptr || first == nullptr) return true;
  int64_t results = 1;
  for (int64_t size : specs.spec[0].shape) results *= size;
  const int64_t numbers = first->numel() / (function_.ordinary.TakesPairs() ? 2 : 1);
  return static_cast<double>(results == 0 ? 0 : numbers / results) <= *correction;
}

bool OverrideCall::NamesOtherDims() const {
  if (function_.last_dims_at >= read_.size) return false;
  const auto* dims = std::get_if<IntList>(&read_.values[function_.last_dims_at]);
  const auto* first = std::get_if<TensorView>(&read_.values[0]);
  if (dims == nullptr || first == nullptr || dims->size() == 0) return true;
  const int rank = first->rank() - (function_.ordinary.TakesPairs() ? 1 : 0), before = rank - dims->size();
  for (int i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] != before + i && (*dims)[i] != before + i - rank) return true;
  }
  return before < 0;
}

bool OverrideCall::Complete() {
  const std::vector<Parameter>& parameters = function_.callable.parameters;
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
  if (!dtype_ || (DrawsKey() && !HasKeys())) return false;
  if (asked_dtype_ && *asked_dtype_ != *dtype_) return false;
  // Beside single numbers of a low precision, a Python number would count in the type of the result.
  const bool is_double = *dtype_ == DType::kFloat64;
  if (num_numbers_ > 0 && all_single_ && *dtype_ != DType::kFloat32 && !is_double) return false;
  const IntList shape_of_number = function_.ordinary.TakesPairs() ? IntList{2} : IntList{};
  for (size_t i = 0; i < num_numbers_; ++i) {
    auto& [at, parts, as_floats] = numbers_[i];
    for (int part = 0; part < 2; ++part) as_floats[part] = static_cast<float>(parts[part]);
    void* data = is_double ? static_cast<void*>(parts) : as_floats;
    read_.values[at] = MakeView(data, is_double ? DType::kFloat64 : DType::kFloat32, shape_of_number, *device_);
  }
  if ((function_.ordinary.contiguous && !all_contiguous_) || NamesOtherDims()) return false;
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

bool OverrideCall::ArrangeTarget(const Specs& specs, TensorView& view) {
  if (order_of_strides_ && view.rank() != order_of_strides_->size()) return false;
  if (order_of_strides_) view = Arranged(view, *order_of_strides_);
  const bool is_transposed =
      !function_.ordinary.results.empty() && function_.ordinary.results[0] == Result::kTransposed;
  if (is_transposed && view.rank() >= 2) Transpose(view);
  target_fits_ = view.dtype == specs.spec[0].dtype && view.shape == specs.spec[0].shape && view.device == *device_;
  if (!target_fits_ || !view.IsContiguous()) return false;
  for (const Value& value : read_.Values()) {
    const auto* input = std::get_if<TensorView>(&value);
    if (input == nullptr || !MayOverlap(*input, view)) continue;
    // Element by element, a result may take the place of its operand.
    const bool may = function_.ordinary.pointwise ||
                     (function_.ordinary.in_place && &value == &read_.values[0] && input->IsContiguous());
    if (!may || input->data != view.data || !(input->shape == view.shape)) return false;
  }
  return true;
}

void OverrideCall::PutNumbers(std::optional<CudaNumbers>& on_device) {
  if (num_numbers_ == 0 || device_->type == DeviceType::kCpu) return;
  on_device.emplace(function_.callable.name, *device_);
  for (size_t i = 0; i < num_numbers_; ++i) {
    auto& view = std::get<TensorView>(read_.values[numbers_[i].at]);
    view.data = on_device->Put(view.data, view.numel() * ItemSize(view.dtype));
  }
}

void OverrideCall::ReadKey(PyObject* generator) {
  if (!DrawsKey()) return;
  const bool on_cuda = device_ && device_->type == DeviceType::kCuda;
  const auto [seed, call] = DrawKey(generator, on_cuda ? std::optional(device_->index) : std::nullopt);
  read_.values[function_.key_at] = seed;
  read_.values[function_.key_at + 1] = call;
}

}  // namespace repdl
