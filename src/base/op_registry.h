// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/kernel.h"
#include "repdl/error.h"
#include "repdl/op.h"
#include "repdl/order.h"
#include "repdl/per_axis.h"

// Turns the C++ signature of an op and the names of its arguments into a row of the table.

namespace repdl {

/// How a C++ parameter type looks in a schema, and how a boxed value becomes one.
template <class T>
struct ArgType;

namespace internal {

template <class T>
const T& Unbox(const Value& value, std::string_view type) {
  const T* held = std::get_if<T>(&value);
  if (held == nullptr) throw TypeError(Message("an argument of type ", type, " was expected"));
  return *held;
}

template <class T>
struct BoxedAs {
  static const T& From(const Value& value) { return Unbox<T>(value, ArgType<T>::kName); }
};

double ParseNumber(std::string_view text);

}  // namespace internal

template <>
struct ArgType<TensorView> : internal::BoxedAs<TensorView> {
  static constexpr std::string_view kName = "Tensor";
};
template <>
struct ArgType<InOut> {
  static constexpr std::string_view kName = "Tensor!";  // Schema() letters them: Tensor(a!), Tensor(b!)
  static InOut From(const Value& value) { return internal::Unbox<TensorView>(value, kName); }
};
template <>
struct ArgType<bool> : internal::BoxedAs<bool> {
  static constexpr std::string_view kName = "bool";
  static Value Parse(std::string_view text) { return text == "True"; }
};
template <>
struct ArgType<int64_t> : internal::BoxedAs<int64_t> {
  static constexpr std::string_view kName = "int";
  static Value Parse(std::string_view text) { return static_cast<int64_t>(internal::ParseNumber(text)); }
};
template <>
struct ArgType<double> : internal::BoxedAs<double> {
  static constexpr std::string_view kName = "float";
  static Value Parse(std::string_view text) { return internal::ParseNumber(text); }
};
template <>
struct ArgType<IntList> : internal::BoxedAs<IntList> {
  static constexpr std::string_view kName = "int[]";
};
/// A single number stands for both.
template <>
struct ArgType<IntPair> {
  static constexpr std::string_view kName = "int[2]";
  static IntPair From(const Value& value) {
    if (const auto* one = std::get_if<int64_t>(&value)) return {*one, *one};
    const auto& list = internal::Unbox<IntList>(value, kName);
    REPDL_CHECK(list.size() == 1 || list.size() == 2, "a pair (height, width) was expected, got ", Name(list));
    return {list[0], list[list.size() - 1]};
  }
  static Value Parse(std::string_view text) { return static_cast<int64_t>(internal::ParseNumber(text)); }
};
template <>
struct ArgType<PerAxis> {
  static constexpr std::string_view kName = "int[1]";
  static PerAxis From(const Value& value) {
    if (const auto* one = std::get_if<int64_t>(&value)) return {*one};
    return PerAxis(internal::Unbox<IntList>(value, kName));
  }
  static Value Parse(std::string_view text) { return static_cast<int64_t>(internal::ParseNumber(text)); }
};
template <>
struct ArgType<std::string_view> : internal::BoxedAs<std::string_view> {
  static constexpr std::string_view kName = "str";
  static Value Parse(std::string_view text) { return text.substr(1, text.size() - 2); }
};
template <>
struct ArgType<Order> {
  static constexpr std::string_view kName = "str";
  static Order From(const Value& value) { return ParseOrder(internal::Unbox<std::string_view>(value, kName)); }
  static Value Parse(std::string_view text) { return ArgType<std::string_view>::Parse(text); }
};

template <class T>
inline constexpr std::string_view kOptionalName = "";
template <>
inline constexpr std::string_view kOptionalName<TensorView> = "Tensor?";
template <>
inline constexpr std::string_view kOptionalName<InOut> = "Tensor!?";
template <>
inline constexpr std::string_view kOptionalName<IntList> = "int[1]?";
template <>
inline constexpr std::string_view kOptionalName<double> = "float?";

template <class T>
struct ArgType<std::optional<T>> {
  static constexpr std::string_view kName = kOptionalName<T>;
  static std::optional<T> From(const Value& value) {
    if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
    return ArgType<T>::From(value);
  }
  static Value Parse(std::string_view) { return std::monostate(); }
};

namespace internal {

/// The next of "a, b=1, c='x'": name and default text.
std::pair<std::string_view, std::string_view> NextArg(std::string_view& names);

template <class... T>
struct Types {};

/// The parameters of an op before its outputs, decayed.
template <class Taken, class... Rest>
struct InputTypes;
template <class... Taken>
struct InputTypes<Types<Taken...>> {
  using type = Types<Taken...>;
  static constexpr int kOutputs = 0;
};
template <class... Taken, class... Rest>
struct InputTypes<Types<Taken...>, Out, Rest...> {
  static_assert((std::is_same_v<Rest, Out> && ...), "outputs come last");
  using type = Types<Taken...>;
  static constexpr int kOutputs = 1 + sizeof...(Rest);
};
template <class... Taken, class Next, class... Rest>
  requires(!std::is_same_v<Next, Out>)
struct InputTypes<Types<Taken...>, Next, Rest...> : InputTypes<Types<Taken..., Next>, Rest...> {};

template <auto kInfer, auto kRun, class Inputs, int kOutputs>
struct Boxed;
template <auto kInfer, auto kRun, class... Inputs, int kOutputs>
struct Boxed<kInfer, kRun, Types<Inputs...>, kOutputs> {
  template <size_t... i>
  static Specs InferAt(std::span<const Value> args, std::index_sequence<i...>) {
    return kInfer(ArgType<Inputs>::From(args[i])...);
  }
  static Specs Infer(std::span<const Value> args) { return InferAt(args, std::index_sequence_for<Inputs...>()); }
  template <size_t... i, size_t... o>
  static void RunAt(std::span<const Value> args, [[maybe_unused]] std::span<const TensorView> outputs,
                    std::index_sequence<i...>, std::index_sequence<o...>) {
    kRun(ArgType<Inputs>::From(args[i])..., Out(outputs[o])...);
  }
  static void Run(std::span<const Value> args, std::span<const TensorView> outputs) {
    RunAt(args, outputs, std::index_sequence_for<Inputs...>(), std::make_index_sequence<kOutputs>());
  }
  template <class T>
  static void AppendArg(OpInfo& op, std::string_view& names) {
    const auto [name, text] = NextArg(names);
    ArgInfo arg{name, ArgType<T>::kName, std::nullopt, text};
    if constexpr (requires { ArgType<T>::Parse(std::string_view()); }) {
      if (!text.empty()) arg.default_value = ArgType<T>::Parse(text);
    }
    op.args.push_back(arg);
  }
  static OpInfo Make(std::string_view name, std::string_view names, DTypes dtypes) {
    static_assert(sizeof...(Inputs) <= kMaxArgs);
    OpInfo op;
    op.name = name;
    op.num_outputs = kOutputs;
    op.dtypes = dtypes;
    op.infer = &Infer;
    op.run = &Run;
    (AppendArg<Inputs>(op, names), ...);
    if (!names.empty()) throw std::logic_error(Message("[", name, "] names more arguments than it takes"));
    return op;
  }
};

template <auto kInfer, auto kRun, class... Params>
OpInfo MakeFrom(std::string_view name, std::string_view names, DTypes dtypes, void (*)(Params...)) {
  using Split = InputTypes<Types<>, std::decay_t<Params>...>;
  return Boxed<kInfer, kRun, typename Split::type, Split::kOutputs>::Make(name, names, dtypes);
}

/// The versions of a kernel as the table has them.
template <class... Versions>
void AppendKernel(const KernelOf<Versions...>&, std::vector<KernelInfo>& kernels) {
  using Any = void (*)();
  (kernels.push_back({
       .name = Versions::kName,
       .has_cuda = [] { return Versions::cuda.load(std::memory_order_acquire) != nullptr; },
       .set_cuda = [](Any f) { Versions::SetCuda(reinterpret_cast<KernelFunction<typename Versions::ArgsType>>(f)); },
       .on_cpu = reinterpret_cast<Any>(&Versions::OnCpu),
   }),
   ...);
}

}  // namespace internal

/// A row of the table. `kRun` takes the inputs and parameters, then the outputs (Out) that it fills;
/// `kInfer` takes the same without the outputs. `names` lists the arguments as Python would:
/// "input, mat2, transA=False". The text must outlive the program. `dtypes` are those that CheckFloat lets through.
/// `kKernels` are the kernels that kRun calls: the op has CUDA where they all have it.
template <auto kInfer, auto kRun, auto... kKernels>
OpInfo MakeOp(std::string_view name, std::string_view names, DTypes dtypes = kFloat32Only) {
  OpInfo op = internal::MakeFrom<kInfer, kRun>(name, names, dtypes, kRun);
  (internal::AppendKernel(kKernels, op.kernels), ...);
  return op;
}

}  // namespace repdl

/// Names the ops of a folder: REPDL_OPS(mm, MakeOp<…>("mm", "…"), …) at the end of mm.cc.
#define REPDL_OPS(folder, ...)                                   \
  namespace repdl::internal {                                    \
  std::vector<OpInfo> OpsOf_##folder() { return {__VA_ARGS__}; } \
  }
