// SPDX-License-Identifier: MIT
#include "tensors.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "tensor_source.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// What is to be known of a type of tensors.
struct Framework {
  PyTypeObject* type;
  const dlpack::ExchangeApi* api;  // null: an array
  bool has_negated_views;          // torch's, whose memory holds the numbers with the other sign
};

/// Types are few: the last ones are remembered (and kept alive).
const Framework& FrameworkOf(PyTypeObject* type) {
  static Framework cache[8];
  static int next = 0;
  for (const Framework& entry : cache) {
    if (entry.type == type) return entry;
  }
  const dlpack::ExchangeApi* api = nullptr;
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "__dlpack_c_exchange_api__");
  if (capsule == nullptr) {
    PyErr_Clear();
  } else {
    api = static_cast<const dlpack::ExchangeApi*>(PyCapsule_GetPointer(capsule, dlpack::kExchangeApiCapsule));
    if (api == nullptr) PyErr_Clear();
    Py_DECREF(capsule);
    while (api != nullptr && api->version.major != 1) api = api->previous;
    if (api != nullptr && api->tensor_from_object == nullptr) api = nullptr;
  }
  Py_INCREF(type);
  Py_XDECREF(cache[next].type);
  Framework& entry = cache[next];
  entry = {type, api, PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "is_neg") == 1};
  next = (next + 1) % static_cast<int>(std::size(cache));
  return entry;
}

constexpr DType kDTypes[] = {DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt8,
                             DType::kInt16,   DType::kInt32,   DType::kInt64,   DType::kUInt8,    DType::kBool};

/// See SetMaker. Its objects are never freed.
struct Maker {
  const dlpack::ExchangeApi* api = nullptr;
  PyObject* make = nullptr;
  PyObject* dtypes[std::size(kDTypes)] = {};
  PyObject* complex_dtypes[2] = {};  // of pairs of float32, and of float64

  PyObject* DTypeObject(DType dtype, bool pairs) const {
    return pairs ? complex_dtypes[dtype == DType::kFloat64] : dtypes[static_cast<int>(dtype)];
  }
};
Maker maker;

/// As a tuple.
nb::object TupleOf(const IntList& numbers) {
  nb::object tuple = nb::steal(PyTuple_New(numbers.size()));
  if (!tuple.is_valid()) throw PythonError();
  for (int i = 0; i < numbers.size(); ++i) PyTuple_SetItem(tuple.ptr(), i, PyLong_FromLongLong(numbers[i]));
  return tuple;
}

IntList WithoutLast(const IntList& numbers) { return IntList(std::span(numbers.begin(), numbers.end() - 1)); }

/// numbers[i] at place order[i].
IntList Placed(const IntList& numbers, const IntList& order) {
  IntList placed = numbers;
  for (int i = 0; i < numbers.size(); ++i) placed[static_cast<int>(order[i])] = numbers[i];
  return placed;
}

/// A tensor that is made, and what it is made of; see Tensors::Make.
struct Design {
  TensorSpec spec;
  IntList order;  // empty for none
  bool pairs;
  Placement placement;
  PyObject* arguments;  // of the maker
};

Design MakeDesign(const TensorSpec& spec, const IntList& order, bool pairs) {
  Design design{spec, order, pairs, PlacementOf(spec, order, pairs), nullptr};
  const auto& [shape, strides, strides_of_view] = design.placement;
  nb::object arguments =
      nb::make_tuple(TupleOf(shape), TupleOf(strides), nb::borrow(maker.DTypeObject(spec.dtype, pairs)));
  design.arguments = arguments.release().ptr();
  return design;
}

/// Some are remembered: the same shapes come again and again.
const Design& DesignOf(const TensorSpec& spec, const IntList& order, bool pairs) {
  static Design known[64];
  auto hash = 2 * static_cast<uint64_t>(spec.dtype) + (pairs ? 1 : 0);
  for (int64_t size : spec.shape) hash = hash * 31 + static_cast<uint64_t>(size);
  for (int64_t dim : order) hash = hash * 31 + static_cast<uint64_t>(dim);
  Design& slot = known[hash % std::size(known)];
  const bool found = slot.arguments != nullptr && slot.spec.dtype == spec.dtype && slot.pairs == pairs &&
                     slot.spec.shape == spec.shape && slot.order == order;
  if (!found) {
    const Design design = MakeDesign(spec, order, pairs);
    Py_XDECREF(slot.arguments);
    slot = design;
  }
  return slot;
}

nb::object CallMethod(PyObject* object, const char* name) {
  nb::object result = nb::steal(PyObject_CallMethod(object, name, nullptr));
  if (!result.is_valid()) throw nb::python_error();
  return result;
}

/// What a method without arguments says.
bool Says(PyObject* tensor, PyObject* method) {
  PyObject* result = PyObject_VectorcallMethod(method, &tensor, 1, nullptr);
  if (result == nullptr) throw nb::python_error();
  Py_DECREF(result);
  return result == Py_True;
}

bool IsNegated(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("is_neg");
  return Says(tensor, name);
}

/// Whether it has elements but no memory for them. Where an address may be an offset from nothing, torch's tensors say so.
bool LacksMemory(const Framework& framework, PyObject* object, const TensorView& view) {
  if (!MayLackMemory(view.data) || view.numel() == 0) return false;
  if (view.data == nullptr || !framework.has_negated_views) return view.data == nullptr;
  const nb::object offset = CallMethod(object, "storage_offset"), size = CallMethod(object, "element_size");
  return reinterpret_cast<uintptr_t>(view.data) == nb::cast<uintptr_t>(offset) * nb::cast<uintptr_t>(size);
}

/// Whether it stands for zeros without having them, as gradients do of what has none. Another framework's never does.
bool IsOfZeros(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("_is_zerotensor");
  return PyObject_HasAttr(tensor, name) != 0 && Says(tensor, name);
}

/// A plain copy of an array: a buffer has no method for it.
nb::object CopyOf(PyObject* array) {
  if (PyObject_HasAttrString(array, "copy") == 1) return CallMethod(array, "copy");
  return nb::module_::import_("numpy").attr("array")(nb::steal(PyMemoryView_FromObject(array)));
}

/// ValueError for a tensor that a view cannot describe.
void CheckReadable(const char* op, std::string_view arg, size_t rank, const int64_t* shape) {
  if (rank > kMaxRank) {
    throw ValueError(Message('[', op, "] ", arg, " has ", rank, " dimensions; tensors of more than ", kMaxRank,
                             " dimensions are not supported; reshape to fewer"));
  }
  double bytes = 8;  // at most, of an element
  for (size_t i = 0; i < rank; ++i) bytes *= static_cast<double>(shape[i]);
  if (bytes > 9e18) throw ValueError(Message('[', op, "] ", arg, " has too many elements to count; take a part of it"));
}

/// The TypeError for a tensor that its framework does not show; the error indicator says why.
[[noreturn]] void ThrowUnreadable(const char* op, std::string_view arg) {
  if (PyErr_ExceptionMatches(PyExc_RuntimeError) == 0 && PyErr_ExceptionMatches(PyExc_BufferError) == 0) {
    throw PythonError();
  }
  const nb::python_error error;
  const std::string reason = nb::str(error.value()).c_str();
  throw TypeError(Message('[', op, "] ", arg, " must be a dense tensor with data (",
                          reason.substr(0, reason.find_first_of(".\n")),
                          "); convert it first, with .to_dense(), .dequantize() or .to('cpu')"));
}

DType DTypeOf(uint8_t code, uint8_t bits) {
  switch (code) {
    case dlpack::kFloat:
      return bits == 32 ? DType::kFloat32 : bits == 64 ? DType::kFloat64 : bits == 16 ? DType::kFloat16 : DType::kOther;
    case dlpack::kBfloat: return bits == 16 ? DType::kBFloat16 : DType::kOther;
    case dlpack::kInt:
      return bits == 64   ? DType::kInt64
             : bits == 32 ? DType::kInt32
             : bits == 16 ? DType::kInt16
             : bits == 8  ? DType::kInt8
                          : DType::kOther;
    case dlpack::kUInt: return bits == 8 ? DType::kUInt8 : DType::kOther;
    case dlpack::kBool: return bits == 8 ? DType::kBool : DType::kOther;
    default: return DType::kOther;
  }
}

dlpack::DataType CodeOf(DType dtype) {
  const auto bits = static_cast<uint8_t>(8 * ItemSize(dtype));
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kFloat16: return {dlpack::kFloat, bits, 1};
    case DType::kBFloat16: return {dlpack::kBfloat, bits, 1};
    case DType::kInt8:
    case DType::kInt16:
    case DType::kInt32:
    case DType::kInt64: return {dlpack::kInt, bits, 1};
    case DType::kUInt8: return {dlpack::kUInt, bits, 1};
    case DType::kBool: return {dlpack::kBool, bits, 1};
    case DType::kOther: break;
  }
  throw std::logic_error("an op has an output of a dtype that the module does not know");
}

Device DeviceOf(int32_t type, int32_t index) {
  switch (type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost: return {DeviceType::kCpu, 0};
    case dlpack::kCuda: return {DeviceType::kCuda, index};
    default: return {DeviceType::kOther, index};
  }
}

/// Writes to `view`, which is new.
void SetView(const dlpack::Tensor& tensor, TensorView& view) {
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  view.dtype = DTypeOf(tensor.dtype.code, tensor.dtype.bits);
  view.device = DeviceOf(tensor.device.device_type, tensor.device.device_id);
  for (int i = 0; i < tensor.ndim; ++i) view.shape.Append(tensor.shape[i]);
  if (tensor.strides == nullptr) {
    view.strides = ContiguousStrides(view.shape);
  } else {
    for (int i = 0; i < tensor.ndim; ++i) view.strides.Append(tensor.strides[i]);
  }
}

TensorView ViewOf(const dlpack::Tensor& tensor) {
  TensorView view;
  SetView(tensor, view);
  return view;
}

/// None for an object that its framework does not show.
std::optional<dlpack::Tensor> TensorOf(const Framework& framework, PyObject* object) {
  dlpack::Tensor tensor;
  if (framework.api != nullptr && framework.api->tensor_from_object(object, &tensor) == 0) return tensor;
  PyErr_Clear();
  return std::nullopt;
}

/// Of an array whose elements cannot be read, such as objects or numbers in the other byte order: what they are.
std::string OfDType(PyObject* object) {
  const nb::object dtype = nb::steal(PyObject_GetAttrString(object, "dtype"));
  const nb::object text = nb::steal(dtype.is_valid() ? PyObject_Str(dtype.ptr()) : nullptr);
  const char* chars = text.is_valid() ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  std::string result =
      chars == nullptr ? "" : Message(" of dtype ", chars, "; convert it first, with .astype('float32')");
  PyErr_Clear();
  return result;
}

void SetPythonError(void*, const char* kind, const char* message) {
  const std::string line(message, std::strcspn(message, "\n"));  // the rest is a trace of the framework's own calls
  PyErr_SetString(std::strcmp(kind, "MemoryError") == 0 ? PyExc_MemoryError : PyExc_RuntimeError, line.c_str());
}

}  // namespace

Placement PlacementOf(const TensorSpec& spec, const IntList& order, bool pairs) {
  IntList shape = spec.shape, strides = ContiguousStrides(spec.shape);
  const IntList strides_of_view = strides;
  if (order.size() > 0) shape = Placed(shape, order), strides = Placed(strides, order);
  if (pairs) {
    shape = WithoutLast(shape), strides = WithoutLast(strides);
    for (int64_t& stride : strides) stride /= 2;
  }
  return {shape, strides, strides_of_view};
}

bool IsMisaligned(const TensorView& view) {
  if (view.numel() == 0) return false;
  const auto size = static_cast<uintptr_t>(ItemSize(view.dtype));  // a power of two
  return size != 0 && (reinterpret_cast<uintptr_t>(view.data) & (size - 1)) != 0;
}

void Tensors::Read(PyObject* object, const char* op, std::string_view arg, bool writable, TensorView& view) {
  const Framework& framework = FrameworkOf(Py_TYPE(object));
  if (below_dispatcher_ && ReadTensor(object, view)) {
    CheckReadable(op, arg, static_cast<size_t>(view.rank()), view.shape.begin());
    if (!has_first_) api_ = framework.api;
  } else if (framework.api != nullptr) {
    dlpack::Tensor tensor;
    if (framework.api->tensor_from_object(object, &tensor) != 0) ThrowUnreadable(op, arg);
    CheckReadable(op, arg, tensor.ndim, tensor.shape);
    SetView(tensor, view);
    if (!has_first_) api_ = framework.api, device_ = tensor.device;
  } else {
    ReadArray(object, op, arg, writable, view);
  }
  has_first_ = true;
  const bool lacks_memory = LacksMemory(framework, object, view);
  if (lacks_memory && (writable || !IsOfZeros(object))) {
    throw TypeError(Message('[', op, "] ", arg, " has no data; make it a plain tensor first, with .clone()"));
  }
  const bool negated = framework.has_negated_views && !below_dispatcher_ && IsNegated(object);
  if (!lacks_memory && !negated && !IsMisaligned(view)) return;
  if (writable) {
    throw ValueError(Message('[', op, "] ", arg, " is to be changed but is ",
                             negated ? "a view with the sign changed" : "not aligned to its elements",
                             "; make it a plain tensor first, with ", negated ? ".resolve_neg()" : "a copy"));
  }
  const auto plain = [&] {
    return framework.api == nullptr ? CopyOf(object) : CallMethod(object, negated ? "resolve_neg" : "clone");
  };
  view = {};
  Read(copies_.emplace_back(plain()).ptr(), op, arg, writable, view);
}

std::optional<TensorView> Tensors::ReadPairs(PyObject* object, const char* op, std::string_view arg) {
  const Framework& framework = FrameworkOf(Py_TYPE(object));
  if (framework.api == nullptr || framework.api != maker.api) return std::nullopt;
  dlpack::Tensor tensor;
  if (framework.api->tensor_from_object(object, &tensor) != 0) ThrowUnreadable(op, arg);
  const int part_bits = tensor.dtype.bits / 2;
  if (tensor.dtype.code != dlpack::kComplex || part_bits < 32 || tensor.ndim >= kMaxRank ||
      (tensor.device.device_type != dlpack::kCpu && tensor.device.device_type != dlpack::kCuda)) {
    return std::nullopt;
  }
  CheckReadable(op, arg, tensor.ndim, tensor.shape);
  TensorView view = ViewOf(tensor);
  view.dtype = part_bits == 32 ? DType::kFloat32 : DType::kFloat64;
  for (int dim = 0; dim < view.rank(); ++dim) view.strides[dim] *= 2;
  view.shape.Append(2);
  view.strides.Append(1);
  if (LacksMemory(framework, object, view) || IsMisaligned(view)) return std::nullopt;
  if (!has_first_) api_ = framework.api, device_ = tensor.device;
  has_first_ = true;
  return view;
}

void Tensors::ReadArray(PyObject* object, const char* op, std::string_view arg, bool writable, TensorView& view) {
  nb::ndarray<> array;
  nb::ndarray<nb::ro> read_only;
  // Buffers may leave out their shape and their strides, as those of ctypes and of NumPy's dates do, which nanobind
  // reads all the same. A memoryview has both.
  nb::object source = nb::borrow(object);
  if (PyObject_CheckBuffer(object) != 0 && PyObject_HasAttrString(object, "__dlpack__") == 0) {
    source = nb::steal(PyMemoryView_FromObject(object));
    if (!source.is_valid()) PyErr_Clear();
  }
  if (source.is_valid() && nb::try_cast(source, array)) {
    arrays_.push_back(array);
  } else if (source.is_valid() && !writable && nb::try_cast(source, read_only)) {
    arrays_.emplace_back(read_only);
  } else {
    PyErr_Clear();
    throw TypeError(Message('[', op, "] ", arg, " must be a ", writable ? "writable " : "",
                            "torch tensor or NumPy array, got ", Py_TYPE(object)->tp_name,
                            writable ? "" : OfDType(object)));
  }
  const nb::ndarray<>& held = arrays_.back();
  CheckReadable(op, arg, held.ndim(), held.shape_ptr());
  const auto dtype = held.dtype();
  view.data = held.data();
  view.dtype = dtype.lanes == 1 ? DTypeOf(dtype.code, dtype.bits) : DType::kOther;
  view.device = DeviceOf(held.device_type(), held.device_id());
  if (view.device.type != DeviceType::kCpu) {
    throw TypeError(Message('[', op, "] ", arg, " is on ", Name(view.device),
                            ", where only torch tensors are taken; use torch.from_dlpack"));
  }
  for (size_t i = 0; i < held.ndim(); ++i) {
    view.shape.Append(static_cast<int64_t>(held.shape(i)));
    view.strides.Append(held.stride(i));
  }
}

nb::object Tensors::Make(const TensorSpec& spec, TensorView& view, const IntList* order, bool pairs) {
  static_cast<void>(CodeOf(spec.dtype));  // throws for what cannot be made
  if (api_ != nullptr && api_ == maker.api) {
    const Design& design = DesignOf(spec, order == nullptr ? IntList() : *order, pairs);
    view.dtype = spec.dtype;
    view.shape = spec.shape;
    view.device = DeviceOf(device_.device_type, device_.device_id);
    const auto& [shape, strides, strides_of_view] = design.placement;
    view.strides = strides_of_view;
    nb::object made = nb::steal(NewTensor(spec.dtype, pairs, shape, strides, view.device, view.data));
    if (made.is_valid()) return made;
    if (view.device.type == DeviceType::kCpu) {
      const nb::object arguments = nb::borrow(design.arguments);
      nb::object object = nb::steal(PyObject_Call(maker.make, arguments.ptr(), nullptr));
      dlpack::Tensor tensor;
      if (!object.is_valid() || api_->tensor_from_object(object.ptr(), &tensor) != 0) throw PythonError();
      view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
      return object;
    }
  }
  if (api_ != nullptr) return MakeByDlpack(spec, view, order, pairs);
  const nb::object sizes = TupleOf(spec.shape);
  // NumPy has no bfloat16: only its bits.
  const std::string dtype(spec.dtype == DType::kBFloat16 ? "uint16" : Name(spec.dtype));
  nb::object array = nb::module_::import_("numpy").attr("empty")(sizes, dtype);
  view = {};
  Read(array.ptr(), "", "", /*writable=*/true, view);
  return array;
}

nb::object Tensors::MakeByDlpack(const TensorSpec& spec, TensorView& view, const IntList* order, bool pairs) {
  IntList shape = pairs ? WithoutLast(spec.shape) : spec.shape;
  dlpack::Tensor prototype{};
  prototype.device = device_;
  prototype.ndim = shape.size();
  prototype.dtype = CodeOf(spec.dtype);
  if (pairs) prototype.dtype = {dlpack::kComplex, static_cast<uint8_t>(2 * prototype.dtype.bits), 1};
  prototype.shape = shape.begin();
  dlpack::ManagedTensor* managed = nullptr;
  if (api_->allocate(&prototype, &managed, nullptr, &SetPythonError) != 0) throw PythonError();
  const TensorView made = ViewOf(managed->tensor);
  view = MakeView(made.data, spec.dtype, spec.shape, made.device);
  for (int i = 0; order != nullptr && i < made.rank(); ++i) {
    managed->tensor.shape[(*order)[i]] = made.shape[i];
    managed->tensor.strides[(*order)[i]] = made.strides[i];
  }
  void* object = nullptr;
  if (api_->object_from_managed(managed, &object) != 0) throw PythonError();
  return nb::steal(static_cast<PyObject*>(object));
}

void SetMaker(const nb::type_object& type, const nb::object& make, const nb::object& dtypes) {
  for (DType dtype : kDTypes) {
    const std::string name(Name(dtype));
    maker.dtypes[static_cast<int>(dtype)] = nb::object(dtypes.attr(name.c_str())).release().ptr();
  }
  maker.complex_dtypes[0] = nb::object(dtypes.attr("complex64")).release().ptr();
  maker.complex_dtypes[1] = nb::object(dtypes.attr("complex128")).release().ptr();
  maker.make = make.inc_ref().ptr();
  maker.api = FrameworkOf(reinterpret_cast<PyTypeObject*>(type.ptr())).api;
}

std::optional<DType> DTypeOfObject(PyObject* object) {
  for (DType dtype : kDTypes) {
    if (maker.DTypeObject(dtype, /*pairs=*/false) == object) return dtype;
  }
  return std::nullopt;
}

void* Tensors::Stream() const {
  void* stream = nullptr;
  if (api_ == nullptr || device_.device_type != dlpack::kCuda || api_->current_stream == nullptr) return stream;
  if (api_->current_stream(device_.device_type, device_.device_id, &stream) != 0) throw PythonError();
  return stream;
}

bool IsRealTensor(PyObject* object) {
  const Framework& framework = FrameworkOf(Py_TYPE(object));
  if (framework.api != maker.api) return false;
  const std::optional<dlpack::Tensor> tensor = TensorOf(framework, object);
  return tensor && tensor->dtype.code != dlpack::kComplex && tensor->device.device_type == dlpack::kCpu;
}

bool IsConjugated(PyObject* tensor) {
  static PyObject* const name = PyUnicode_InternFromString("is_conj");
  return Says(tensor, name);
}

std::optional<double> NumberOfTensor(PyObject* object) {
  const Framework& framework = FrameworkOf(Py_TYPE(object));
  if (framework.api == nullptr || (framework.has_negated_views && IsNegated(object))) return std::nullopt;
  const std::optional<dlpack::Tensor> tensor = TensorOf(framework, object);
  if (!tensor || tensor->ndim > kMaxRank) return std::nullopt;
  const TensorView view = ViewOf(*tensor);
  if (view.numel() != 1 || view.device.type != DeviceType::kCpu || IsMisaligned(view)) return std::nullopt;
  if (LacksMemory(framework, object, view)) return std::nullopt;
  if (view.dtype == DType::kFloat32) return *view.Data<const float>();
  if (view.dtype == DType::kFloat64) return *view.Data<const double>();
  return std::nullopt;
}

std::span<std::byte> MemoryOf(PyObject* object) {
  const Framework& framework = FrameworkOf(Py_TYPE(object));
  const std::optional<dlpack::Tensor> tensor = TensorOf(framework, object);
  if (!tensor || tensor->ndim > kMaxRank || tensor->device.device_type != dlpack::kCpu) return {};
  const TensorView view = ViewOf(*tensor);
  if (view.data == nullptr || LacksMemory(framework, object, view) || !view.IsContiguous() ||
      tensor->dtype.bits % 8 != 0)
    return {};
  return {static_cast<std::byte*>(view.data), static_cast<size_t>(view.numel()) * tensor->dtype.bits / 8};
}

TensorView ReadMeta(PyObject* object) {
  const nb::handle tensor(object);
  const nb::object dtype_object = tensor.attr("dtype");
  std::string dtype = nb::str(dtype_object).c_str();
  if (const size_t dot = dtype.rfind('.'); dot != std::string::npos) dtype = dtype.substr(dot + 1);
  IntList shape;
  const nb::object sizes = tensor.attr("shape");
  for (nb::handle size : sizes) shape.Append(PyLong_AsLongLong(nb::int_(size).ptr()));
  for (DType known : kDTypes) {
    if (Name(known) == dtype) return MakeView(nullptr, known, shape);
  }
  return MakeView(nullptr, DType::kOther, shape);
}

}  // namespace repdl
