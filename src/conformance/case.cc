// SPDX-License-Identifier: MIT
#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/fp_env.h"
#include "numerics/lanes/scalar.h"
#include "repdl/conformance.h"
#include "repdl/error.h"

namespace repdl {
namespace {

/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
uint64_t SplitMix64(uint64_t counter) {
  uint64_t z = (counter + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

/// A normal number from sign, exponent and fraction bits.
float Compose(uint64_t x, int lowest_exponent, int num_exponents) {
  const auto exponent = static_cast<uint32_t>(lowest_exponent + static_cast<int>((x >> 32) % num_exponents) + 127);
  const auto sign = static_cast<uint32_t>(x >> 31 & 1);
  return std::bit_cast<float>(sign << 31 | exponent << 23 | static_cast<uint32_t>(x & 0x7fffff));
}

float Normal(uint64_t x) {
  const auto sum = static_cast<int64_t>((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
  return static_cast<float>(sum - 2 * int64_t{65535}) * 0x1p-15f;
}

constexpr uint32_t kSpecial[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x00000000, 0x80000000, 0x3f800000,
                                 0xbf800000, 0x00000001, 0x80000001, 0x00800000, 0x80800000, 0x7f7fffff,
                                 0xff7fffff, 0x3f000000, 0xbfc00000, 0x40400000};

constexpr float kFew[] = {-1, 0, 0, 1};

/// The random bits of element i.
uint64_t Bits(uint64_t seed, int64_t i) { return SplitMix64((seed << 32) + static_cast<uint64_t>(i)); }

float Element(std::string_view generator, uint64_t seed, int64_t i) {
  const uint64_t x = Bits(seed, i);
  const auto top24 = static_cast<int64_t>(x >> 40);
  if (generator == "uniform") return static_cast<float>(top24 - (int64_t{1} << 23)) * 0x1p-23f;
  if (generator == "normal") return Normal(x);
  if (generator == "wide") return Compose(x, -40, 80);
  if (generator == "tiny") return Compose(x, -80, 16);
  if (generator == "positive") return static_cast<float>(top24 + 1) * 0x1p-23f;
  if (generator == "unit") return static_cast<float>(top24) * 0x1p-24f;
  if (generator == "bits") return std::bit_cast<float>(static_cast<uint32_t>(x >> 32));
  if (generator == "sweep") return std::bit_cast<float>(static_cast<uint32_t>(i * 65537 + seed * 2654435761));
  if (generator == "special") return std::bit_cast<float>(kSpecial[x % std::size(kSpecial)]);
  if (generator == "zeros") return x % 2 == 0 ? 0.0f : -0.0f;
  if (generator == "few") return kFew[x % 4];
  if (generator == "nonnegative")
    return std::bit_cast<float>(static_cast<uint32_t>(x >> 33) % 0x7f800000 * (x % 4 != 0));
  if (generator == "infinite") {
    return i % 8 == 7 ? std::bit_cast<float>(x % 2 == 0 ? 0x7f800000u : 0xff800000u) : Normal(x);
  }
  throw ValueError(Message("there is no generator '", generator, "'"));
}

/// A normal double from sign, exponent and fraction bits.
double ComposeDouble(uint64_t x, int lowest_exponent, int num_exponents) {
  const auto exponent = static_cast<uint64_t>(lowest_exponent + static_cast<int>((x >> 32) % num_exponents) + 1023);
  return std::bit_cast<double>((x >> 31 & 1) << 63 | exponent << 52 | SplitMix64(x) >> 12);
}

double NormalDouble(uint64_t x) {
  const auto sum = static_cast<int64_t>((x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48));
  const int64_t high = (sum - 2 * int64_t{65535}) * (int64_t{1} << 35);
  return static_cast<double>(high + static_cast<int64_t>(SplitMix64(x) >> 29)) * 0x1p-50;
}

constexpr double kSpecialDoubles[] = {std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity(),
                                      -std::numeric_limits<double>::infinity(),
                                      0.0,
                                      -0.0,
                                      1.0,
                                      -1.0,
                                      0x1p-1074,
                                      -0x1p-1074,
                                      0x1p-1022,
                                      -0x1p-1022,
                                      std::numeric_limits<double>::max(),
                                      std::numeric_limits<double>::lowest(),
                                      0.5,
                                      -1.5,
                                      3.0};

/// The same for float64: numbers whose 53 bits are all random.
double DoubleElement(std::string_view generator, uint64_t seed, int64_t i) {
  const uint64_t x = Bits(seed, i);
  const auto top53 = static_cast<int64_t>(x >> 11);
  if (generator == "uniform") return static_cast<double>(top53 - (int64_t{1} << 52)) * 0x1p-52;
  if (generator == "normal") return NormalDouble(x);
  if (generator == "wide") return ComposeDouble(x, -320, 640);
  if (generator == "tiny") return ComposeDouble(x, -640, 128);
  if (generator == "positive") return static_cast<double>(top53 + 1) * 0x1p-52;
  if (generator == "unit") return static_cast<double>(top53) * 0x1p-53;
  if (generator == "bits") return std::bit_cast<double>(x);
  if (generator == "sweep") {
    return std::bit_cast<double>(static_cast<uint64_t>(i) * 0x0001000100010001 + seed * 0x9e3779b97f4a7c15);
  }
  if (generator == "special") return kSpecialDoubles[x % std::size(kSpecialDoubles)];
  if (generator == "zeros") return x % 2 == 0 ? 0.0 : -0.0;
  if (generator == "few") return static_cast<double>(kFew[x % 4]);
  if (generator == "nonnegative") return std::bit_cast<double>((x >> 1) % 0x7ff0000000000000 * (x % 4 != 0));
  if (generator == "infinite" && i % 8 == 7) return kSpecialDoubles[x % 2 == 0 ? 1 : 2];
  if (generator == "infinite") return NormalDouble(x);
  throw ValueError(Message("there is no generator '", generator, "'"));
}

/// The same for a type of 16 bits.
uint16_t HalfElement(std::string_view generator, DType dtype, uint64_t seed, int64_t i) {
  if (generator == "bits") return static_cast<uint16_t>(Bits(seed, i));
  if (generator == "sweep") return static_cast<uint16_t>(i);
  const float value = Element(generator, seed, i);
  return static_cast<uint16_t>(dtype == DType::kBFloat16 ? scalar::NarrowBFloat16(value)
                                                         : scalar::NarrowFloat16(value));
}

/// Makes the diagonals of matrices larger than all else: |x| + the number of columns; of pairs the real parts.
void RaiseDiagonals(const TensorView& view, bool pairs) {
  const int parts = pairs ? 1 : 0;  // dimensions behind those of the matrices
  REPDL_CHECK(view.rank() >= 2 + parts && kFloat32Or64.Has(view.dtype), "generator '",
              pairs ? "dominant_pairs" : "dominant", "' makes matrices of float32 or float64, not ", Name(view.dtype),
              " of shape ", Name(view.shape));
  const int64_t rows = view.shape[view.rank() - 2 - parts], cols = view.shape[view.rank() - 1 - parts];
  const int64_t step = pairs ? view.shape[view.rank() - 1] : 1;
  for (int64_t at = 0; at < view.numel(); at += step) {
    if (at / step / cols % rows != at / step % cols) continue;
    if (view.dtype == DType::kFloat64) {
      view.Data<double>()[at] = std::abs(view.Data<double>()[at]) + static_cast<double>(cols);
    } else {
      view.Data<float>()[at] = std::abs(view.Data<float>()[at]) + static_cast<float>(cols);
    }
  }
}

}  // namespace

/// A recursive reader of the text of a case.
class CaseReader {
 public:
  CaseReader(std::string_view text, Case& result) : text_(text), rest_(text), case_(result) {}

  void Read() {
    const std::string_view name = Word();
    case_.op_ = FindOp(name);
    if (case_.op_ == nullptr) Fail(Message("there is no op '", name, "'"));
    const OpInfo& op = *case_.op_;
    case_.args_.resize(op.args.size());
    std::vector<bool> given(op.args.size(), false);
    Expect('(');
    while (!Take(')')) {
      const std::string_view arg = Word();
      const ArgInfo* info = op.FindArg(arg);
      if (info == nullptr) Fail(Message("[", name, "] has no argument '", arg, "'"));
      const auto at = static_cast<size_t>(info - op.args.data());
      Expect('=');
      case_.args_[at] = ReadValue(*info);
      given[at] = true;
      if (!Take(',')) {
        Expect(')');
        break;
      }
    }
    for (size_t i = 0; i < op.args.size(); ++i) {
      if (given[i]) continue;
      if (!op.args[i].default_value) Fail(Message("[", name, "] needs the argument ", op.args[i].name));
      case_.args_[i] = *op.args[i].default_value;
    }
    if (!rest_.empty()) Fail("more text than a case");
  }

 private:
  [[noreturn]] void Fail(std::string_view what) const {
    throw ValueError(Message("case `", text_, "`: ", what, " before `", rest_, "`"));
  }
  void SkipSpace() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpace();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    SkipSpace();
    return true;
  }
  void Expect(char c) {
    if (!Take(c)) Fail(Message("expected '", c, "'"));
  }
  std::string_view Word() {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() && (std::isalnum(static_cast<unsigned char>(rest_[n])) != 0 || rest_[n] == '_')) ++n;
    if (n == 0) Fail("expected a name");
    const std::string_view word = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return word;
  }
  template <class T>
  T Number() {
    SkipSpace();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) Fail("expected a number");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return value;
  }
  IntList Numbers(char end) {
    IntList list;
    while (!Take(end)) {
      list.Append(Number<int64_t>());
      if (!Take(',')) {
        Expect(end);
        break;
      }
    }
    return list;
  }

  DType FloatType() {
    const std::string_view word = Word();
    for (DType dtype : {DType::kBFloat16, DType::kFloat16, DType::kFloat64}) {
      if (word == Name(dtype)) return dtype;
    }
    Fail("expected bfloat16, float16 or float64");
  }

  Value ReadValue(const ArgInfo& info) {
    SkipSpace();
    if (Take('(')) return Numbers(')');
    if (Take('\'')) {
      const size_t n = rest_.find('\'');
      if (n == std::string_view::npos) Fail("a string without an end");
      const std::string& text = case_.strings_.emplace_back(rest_.substr(0, n));
      rest_.remove_prefix(n + 1);
      return std::string_view(text);
    }
    if (info.IsTensor()) {
      const std::string_view word = Word();
      if (word == "None") return std::monostate();
      const DType dtype = Take('.') ? FloatType() : DType::kFloat32;
      Expect('[');
      const IntList shape = Numbers(']');
      Expect('#');
      return case_.Generate(word, dtype, shape, Number<uint64_t>());
    }
    if (rest_.starts_with("None")) {
      rest_.remove_prefix(4);
      return std::monostate();
    }
    if (info.type.starts_with("float")) return Number<double>();
    if (info.type == "bool") {
      const std::string_view word = Word();
      if (word != "True" && word != "False") Fail("expected True or False");
      return word == "True";
    }
    return Number<int64_t>();
  }

  std::string_view text_, rest_;
  Case& case_;
};

TensorView TensorMemory::New(const TensorSpec& spec) {
  TensorView view = MakeView(nullptr, spec.dtype, spec.shape);
  view.data = memory_.emplace_back(static_cast<size_t>(view.numel() * ItemSize(spec.dtype))).data();
  return view;
}

std::vector<TensorView> TensorMemory::New(const Specs& specs) {
  std::vector<TensorView> tensors;
  for (int i = 0; i < specs.size; ++i) tensors.push_back(New(specs.spec[i]));
  return tensors;
}

Case::Case(std::string_view text, int64_t max_elements) : elements_left_(max_elements) {
  const FpEnvGuard guard;  // which from_chars heeds
  CaseReader(text, *this).Read();
}

TensorView Case::Generate(std::string_view generator, DType dtype, const IntList& shape, uint64_t seed) {
  for (int64_t count = 1, i = 0; i < shape.size(); ++i) {
    REPDL_CHECK(shape[i] >= 0, "a tensor of shape ", Name(shape), " has a negative size");
    // The elements of the other dimensions count where one of them is empty, too: they must not overflow either.
    REPDL_CHECK(shape[i] <= elements_left_ / count, "a tensor of shape ", Name(shape), " is too large for a case");
    count *= std::max<int64_t>(shape[i], 1);
  }
  const bool is_class = generator.starts_with("classes"), are_offsets = generator.starts_with("offsets");
  TensorView view = memory_.New({is_class || are_offsets ? DType::kInt64 : dtype, shape});
  elements_left_ -= view.numel();
  uint64_t num_classes = 0;
  if (is_class || are_offsets) {
    std::from_chars(generator.data() + 7, generator.data() + generator.size(), num_classes);
    if (are_offsets) ++num_classes;
    if (num_classes == 0) throw ValueError(Message("generator '", generator, "' names no number of classes"));
  }
  const bool pairs = generator == "dominant_pairs", is_dominant = pairs || generator == "dominant";
  if (is_dominant) generator = "normal";
  for (int64_t i = 0; i < view.numel(); ++i) {
    if (is_class || are_offsets) {
      view.Data<int64_t>()[i] = static_cast<int64_t>(Bits(seed, i) % num_classes);
    } else if (dtype == DType::kFloat32) {
      view.Data<float>()[i] = Element(generator, seed, i);
    } else if (dtype == DType::kFloat64) {
      view.Data<double>()[i] = DoubleElement(generator, seed, i);
    } else {
      view.Data<uint16_t>()[i] = HalfElement(generator, dtype, seed, i);
    }
  }
  if (is_dominant) RaiseDiagonals(view, pairs);
  if (are_offsets && view.numel() > 0) {
    auto* const first = view.Data<int64_t>();
    *first = 0;
    std::sort(first, first + view.numel());
  }
  return view;
}

std::vector<TensorView> Case::Run() {
  std::vector<TensorView> results;
  for (size_t i = 0; i < args_.size(); ++i) {
    const auto* tensor = std::get_if<TensorView>(&args_[i]);
    if (tensor != nullptr && op_->args[i].IsMutated()) results.push_back(*tensor);
  }
  const std::vector<TensorView> outputs = memory_.New(op_->infer(args_));
  op_->run(args_, outputs);
  results.insert(results.end(), outputs.begin(), outputs.end());
  return results;
}

}  // namespace repdl
