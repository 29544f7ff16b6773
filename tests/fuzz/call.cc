// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>

#include "cpp/golden.h"
#include "fuzz/fuzz.h"
#include "repdl/conformance.h"
#include "repdl/error.h"
#include "repdl/target.h"

namespace repdl::testing {
namespace {

/// The input as a source of choices; zeros when it is used up.
class Choices {
 public:
  explicit Choices(std::span<const uint8_t> bytes) : rest_(bytes) {}

  uint8_t Byte() {
    if (rest_.empty()) return 0;
    const uint8_t byte = rest_.front();
    rest_ = rest_.subspan(1);
    return byte;
  }
  int64_t Word() {
    uint64_t word = 0;
    for (int i = 0; i < 8; ++i) word = word << 8 | Byte();
    return static_cast<int64_t>(word);
  }
  size_t Below(size_t n) { return (Byte() * size_t{256} + Byte()) % n; }
  template <class T, size_t n>
  T OneOf(const T (&values)[n]) {
    return values[Below(n)];
  }
  bool IsUsedUp() const { return rest_.empty(); }

 private:
  std::span<const uint8_t> rest_;
};

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

int64_t AnyInt(Choices& choices) {
  constexpr int64_t kInts[] = {0,         1,         -1,        2,         3,         -3,        4,
                               5,         7,         8,         9,         15,        16,        17,
                               31,        33,        64,        65,        100,       1000,      -1000,
                               4096,      1 << 20,   INT32_MAX, INT32_MIN, 1LL << 31, 1LL << 32, 1LL << 33,
                               1LL << 40, 1LL << 60, 1LL << 62, kMax,      kMax - 1,  kMin,      kMin + 1};
  return choices.Byte() % 8 == 7 ? choices.Word() : choices.OneOf(kInts);
}

double AnyDouble(Choices& choices) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kDoubles[] = {0.0,       -0.0,       1.0,   -1.0,   0.5,    -2.5,   1e-5,     0.9,  0.999, 3.0,
                                 kInfinity, -kInfinity, 1e308, -1e308, 3.5e38, 1e-310, 0x1p-149, 1e19, -1e19, NAN};
  if (choices.Byte() % 8 != 7) return choices.OneOf(kDoubles);
  return std::bit_cast<double>(choices.Word());
}

/// A tensor to be: its memory comes last, and covers just what the view reaches.
struct Plan {
  TensorView view;
  int values = 0;     // 0: those that the case has
  uint64_t seed = 0;  // of others
};

/// Reachable elements before and after the first, or nothing if they are too many.
struct Reach {
  int64_t before = 0, after = 0;
};
std::optional<Reach> ReachOf(const TensorView& view) {
  Reach reach;
  for (int64_t size : view.shape) {
    if (size <= 0) return Reach{0, -1};
  }
  double count = 1;
  for (int i = 0; i < view.rank(); ++i) {
    count *= static_cast<double>(view.shape[i]);
    const double span = static_cast<double>(view.shape[i] - 1) * static_cast<double>(view.strides[i]);
    if (count > kMaxFuzzElements || std::abs(span) > 4 * kMaxFuzzElements) return std::nullopt;
    (span < 0 ? reach.before : reach.after) += std::abs((view.shape[i] - 1) * view.strides[i]);
  }
  return reach;
}

/// Row-major strides, which wrap around where they are too large to be.
IntList RowMajor(const IntList& shape) {
  IntList strides = shape;
  uint64_t stride = 1;
  for (int i = shape.size() - 1; i >= 0; --i) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(shape[i], 1));
  }
  return strides;
}

void ChangeTensor(Plan& plan, Choices& choices) {
  TensorView& view = plan.view;
  const auto dim = [&] { return static_cast<int>(choices.Below(static_cast<size_t>(std::max(view.rank(), 1)))); };
  switch (choices.Byte() % 12) {
    case 0:
    case 1: {  // another size
      if (view.rank() == 0) return;
      view.shape[dim()] = AnyInt(choices);
      if (choices.Byte() % 2 == 0) view.strides = RowMajor(view.shape);
      return;
    }
    case 2:  // one more dimension, which may be one too many
      view.shape.Append(choices.OneOf<int64_t>({1, 1, 0, 2, 3}));
      view.strides = RowMajor(view.shape);
      return;
    case 3: {  // one less
      if (view.rank() == 0) return;
      view.shape = IntList(std::span(view.shape.begin(), static_cast<size_t>(view.rank() - 1)));
      view.strides = RowMajor(view.shape);
      return;
    }
    case 4: {  // two change places
      if (view.rank() == 0) return;
      const int a = dim(), b = dim();
      std::swap(view.shape[a], view.shape[b]);
      std::swap(view.strides[a], view.strides[b]);
      return;
    }
    case 5:
    case 6:
    case 7: {  // another stride
      if (view.rank() == 0) return;
      int64_t& stride = view.strides[dim()];
      switch (choices.Byte() % 5) {
        case 0: stride = 0; return;
        case 1: stride = stride == kMin ? 1 : -stride; return;
        case 2: stride = static_cast<int64_t>(static_cast<uint64_t>(stride) * 2); return;
        case 3: stride = static_cast<int64_t>(static_cast<uint64_t>(stride) + 1); return;
        default: stride = AnyInt(choices); return;
      }
    }
    case 8:
      view.dtype =
          choices.OneOf({DType::kFloat32, DType::kFloat64, DType::kFloat16, DType::kBFloat16, DType::kInt8,
                         DType::kInt16, DType::kInt32, DType::kInt64, DType::kUInt8, DType::kBool, DType::kOther});
      plan.values = 1;
      return;
    case 9: view.device = {choices.OneOf({DeviceType::kCpu, DeviceType::kCuda, DeviceType::kOther}), 0}; return;
    default:
      plan.values = 1 + choices.Byte() % 4;
      plan.seed = choices.Byte();
      return;
  }
}

/// The memory of the tensors of a call.
class Memory {
 public:
  /// The tensor of a plan, which has a reach.
  TensorView Make(const Plan& plan, const TensorView& from) {
    TensorView view = plan.view;
    const Reach reach = *ReachOf(view);
    view.data = nullptr;
    if (reach.after < 0) return view;  // no elements
    const int64_t count = reach.before + reach.after + 1;
    const auto size = static_cast<size_t>(count * ItemSize(view.dtype));
    std::byte* data = memory_.emplace_back(new std::byte[size]).get();
    Fill(plan, from, std::span(data, size));
    view.data = data + reach.before * ItemSize(view.dtype);
    return view;
  }

 private:
  static void Fill(const Plan& plan, const TensorView& from, std::span<std::byte> data) {
    constexpr float kFloats[] = {0.0f,      -0.0f,     1.0f,      -1.0f,   NAN, INFINITY,
                                 -INFINITY, 0x1p-149f, 0x1p-126f, 3.4e38f, 7.5f};
    constexpr int64_t kInts[] = {0, 1, -1, 2, 3, 9, -100, 1 << 20, INT32_MAX, kMin, kMax};
    const auto from_size = static_cast<size_t>(from.numel() * ItemSize(from.dtype));
    uint64_t state = plan.seed;
    for (size_t at = 0; at < data.size();) {
      state = state * 6364136223846793005 + 1442695040888963407;
      const uint64_t bits = state >> 24;
      std::byte item[8];
      size_t length = sizeof item;
      if (plan.values == 0 && from_size > 0) {
        length = std::min(from_size, data.size() - at);
        std::memcpy(&data[at], from.data, length);
        at += length;
        continue;
      }
      if (plan.values <= 1) {
        std::memcpy(item, &bits, sizeof bits);
      } else if (plan.values == 2 || plan.view.dtype != DType::kFloat32) {
        std::memcpy(item, &kInts[bits % std::size(kInts)], sizeof(int64_t));
      } else {
        length = sizeof(float);
        std::memcpy(item, &kFloats[bits % (plan.values == 3 ? std::size(kFloats) : 4)], length);
      }
      length = std::min(length, data.size() - at);
      std::memcpy(&data[at], item, length);
      at += length;
    }
  }

  std::deque<std::unique_ptr<std::byte[]>> memory_;
};

Value AnyValue(const ArgInfo& info, Choices& choices) {
  constexpr std::string_view kTexts[] = {"blocked", "sequential", "mean", "sum", "none", "", "Blocked", "max\n\xff"};
  switch (choices.Byte() % 16) {
    case 0: return std::monostate();
    case 1: return AnyDouble(choices);
    case 2: return AnyInt(choices);
    case 3: return choices.OneOf(kTexts);
    default: break;
  }
  if (info.type.starts_with("int[")) {
    IntList list;
    for (size_t n = choices.Below(info.type.starts_with("int[2]") ? 4 : kMaxRank + 2); n > 0; --n) {
      list.Append(AnyInt(choices));
    }
    return list;
  }
  if (info.type.starts_with("int")) return AnyInt(choices);
  if (info.type.starts_with("float")) return AnyDouble(choices);
  if (info.type.starts_with("bool")) return choices.Byte() % 2 == 0;
  return choices.OneOf(kTexts);
}

/// The golden cases that are small enough, of each op.
const std::vector<std::vector<std::string>>& SmallCases() {
  static const auto cases = [] {
    std::vector<std::vector<std::string>> all;
    for (const std::string& op : GoldenOps()) {
      all.emplace_back();
      for (const GoldenLine& line : GoldenLines(op)) {
        try {
          const Case test_case(line.text, kMaxFuzzElements);
          if (IsSmall(test_case.op(), test_case.args())) all.back().push_back(line.text);
        } catch (const ValueError&) {  // too large
        }
      }
    }
    return all;
  }();
  return cases;
}

/// A call, made anew from the same bytes for each target.
std::string OutcomeOf(std::span<const uint8_t> bytes, std::string_view target, std::string& text) {
  Choices choices(bytes);
  const auto& cases = SmallCases()[choices.Below(SmallCases().size())];
  if (cases.empty()) return {};
  text = cases[choices.Below(cases.size())];
  const int threads = choices.Byte() % 3 + 1;
  const Case start(text, kMaxFuzzElements);
  std::vector<Value> args(start.args().begin(), start.args().end());
  std::vector<Plan> plans(args.size());
  for (size_t i = 0; i < args.size(); ++i) {
    if (const auto* tensor = std::get_if<TensorView>(&args[i])) plans[i].view = *tensor;
  }
  Memory memory;
  try {
    while (!choices.IsUsedUp()) {
      const size_t at = choices.Below(args.size());
      const ArgInfo& info = start.op().args[at];
      if (info.IsTensor() && std::holds_alternative<TensorView>(args[at]) && choices.Byte() % 16 != 15) {
        Plan& plan = plans[at];
        ChangeTensor(plan, choices);
      } else if (info.IsTensor()) {
        const size_t other = choices.Below(args.size());  // that of another argument, with memory of its own, or none
        args[at] = std::monostate();
        if (std::holds_alternative<TensorView>(start.args()[other])) {
          args[at] = start.args()[other];
          plans[at] = {std::get<TensorView>(start.args()[other])};
        }
      } else {
        args[at] = AnyValue(info, choices);
      }
    }
    bool runs = true;
    for (size_t i = 0; i < args.size(); ++i) {
      auto* tensor = std::get_if<TensorView>(&args[i]);
      if (tensor == nullptr) continue;
      const TensorView from = *tensor;
      *tensor = plans[i].view;
      tensor->data = nullptr;  // infer does not read
      if (ReachOf(*tensor)) {
        *tensor = memory.Make(plans[i], from);
      } else {
        runs = false;
      }
    }
    if (!IsSmall(start.op(), args) || !runs) return {};
    return Outcome(start.op(), args, target, threads);
  } catch (const ValueError&) {
  } catch (const TypeError&) {
  } catch (const NotImplementedError&) {
  }
  return {};
}

}  // namespace

std::string FuzzCall(std::span<const uint8_t> bytes) {
  std::string text;
  const std::string slow = OutcomeOf(bytes, SupportedTargets().front(), text);
  const std::string best = OutcomeOf(bytes, SupportedTargets().back(), text);
  return slow == best ? "" : Message("from ", text, ": ", slow, " or ", best);
}

}  // namespace repdl::testing
