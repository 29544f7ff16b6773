// SPDX-License-Identifier: MIT
// Steps of many tensors that share launches: the bits of the CPU, which takes one after the other.
#include "repdl/held_launches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <span>
#include <vector>

#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "repdl/ops/fused_optimizer.h"

namespace repdl::testing {
namespace {

/// Memory of a parameter, its gradient or state, on both sides.
struct Both {
  std::vector<std::byte> host;
  DeviceMemory device;

  explicit Both(std::vector<std::byte> bytes) : host(std::move(bytes)), device(host) {}
};

/// Positive numbers of the type, as many as no test needs.
std::vector<std::byte> Numbers(DType dtype, int64_t count, std::mt19937& random) {
  std::vector<std::byte> bytes(static_cast<size_t>(count * ItemSize(dtype)));
  for (int64_t i = 0; i < count; ++i) {
    const float number = static_cast<float>(random() % 8191 + 1) * 0x1p-9f;
    const double wide = number;
    std::byte* const to = bytes.data() + i * ItemSize(dtype);
    if (dtype == DType::kFloat64) {
      std::memcpy(to, &wide, 8);
    } else if (dtype == DType::kFloat32) {
      std::memcpy(to, &number, 4);
    } else {
      std::memcpy(to, reinterpret_cast<const std::byte*>(&number) + 2, 2);  // the upper half, as bfloat16
    }
  }
  return bytes;
}

struct Parameter {
  DType dtype;
  int64_t size;
  size_t first;  // of its tensors among all
  int count;
  double step = 3;
  bool is_transposed = false;  // its gradient
};

/// What many steps give, with `held` launches of their own or not.
class Steps {
 public:
  void Add(Parameter parameter) {
    if (parameter.first == kNew) {
      parameter.first = memories_.size();
      for (int k = 0; k < parameter.count; ++k) {
        memories_.emplace_back(Numbers(parameter.dtype, parameter.size, random_));
      }
    }
    parameters_.push_back(parameter);
  }

  /// Steps on the device; the number of launches that waited.
  int RunOnDevice() {
    int launches = 0;
    HeldLaunches held;
    const HeldLaunch* last = nullptr;
    for (const Parameter& parameter : parameters_) {
      Run(parameter, kDevice);
      const auto* const waiting = held.Waiting<HeldLaunch>();
      if (waiting != last && waiting != nullptr) ++launches;
      last = waiting;
    }
    held.Start();
    EXPECT_EQ(held.Waiting<HeldLaunch>(), nullptr);
    return launches;
  }

  void ExpectTheBitsOfTheCpu() {
    for (const Parameter& parameter : parameters_) Run(parameter, {});
    size_t at = 0;
    for (const Both& memory : memories_) {
      EXPECT_EQ(std::memcmp(memory.device.data(), memory.host.data(), memory.host.size()), 0) << at;
      ++at;
    }
  }

  static constexpr size_t kNew = SIZE_MAX;

 private:
  void Run(const Parameter& parameter, Device device) {
    std::vector<TensorView> views;
    for (int k = 0; k < parameter.count; ++k) {
      Both& memory = memories_[parameter.first + static_cast<size_t>(k)];
      std::byte* const data = device.type == DeviceType::kCpu ? memory.host.data() : memory.device.data();
      TensorView& view = views.emplace_back(MakeView(data, parameter.dtype, {2, parameter.size / 2}, device));
      if (k == 1 && parameter.is_transposed) view.strides = {1, 2};
    }
    std::optional<InOut> largest;
    if (parameter.count == 5) largest = views[4];
    FusedAdamStep(views[0], views[1], views[2], views[3], largest, parameter.step, 0.01, 0.9, 0.99, 1e-8, 0.1, false,
                  true);
  }

  std::mt19937 random_{1};
  std::deque<Both> memories_;
  std::vector<Parameter> parameters_;
};

TEST(HeldLaunches, TakeManySteps) {
  Steps steps;
  for (int64_t i = 0; i < 200; ++i) {
    // Around the ends of a block's share; and of a size that has several.
    const int64_t size = i % 3 == 0 ? 2 * (i + 1) : i % 50 == 1 ? 2046 + 2 * (i % 4) : i == 100 ? 9000 : 2;
    steps.Add({.dtype = DType::kFloat32, .size = size, .first = Steps::kNew, .count = 4});
  }
  on_host::SetSchedule(7);
  EXPECT_EQ(steps.RunOnDevice(), 3);  // of 80 each, as far as the parameters of a kernel reach
  steps.ExpectTheBitsOfTheCpu();
}

TEST(HeldLaunches, KeepTheirOrder) {
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kBFloat16}) {
    Steps steps;
    const Parameter plain{.dtype = dtype, .size = 66, .first = Steps::kNew, .count = 4};
    const auto with = [&](auto change) {
      Parameter changed = plain;
      change(changed);
      steps.Add(changed);
    };
    steps.Add(plain);
    with([](Parameter& p) { p.step = 4; });                // other numbers
    with([](Parameter& p) { p.count = 5; });               // one tensor more
    with([](Parameter& p) { p.first = 0, p.step = 4; });   // once more
    with([](Parameter& p) { p.first = 0, p.step = 4; });   // and again, beside what waits
    with([](Parameter& p) { p.first = 2, p.step = 4; });   // some of these tensors, as others
    with([](Parameter& p) { p.is_transposed = true; });    // copied first
    with([](Parameter& p) { p.first = 1, p.size = 40; });  // in the midst of what waits
    with([](Parameter& p) { p.first = 1, p.is_transposed = true; });
    steps.Add(plain);
    on_host::SetSchedule(11);
    steps.RunOnDevice();
    steps.ExpectTheBitsOfTheCpu();
  }
}

TEST(HeldLaunches, AreStartedAfterAnError) {
  Steps steps;
  steps.Add({.dtype = DType::kFloat32, .size = 10, .first = Steps::kNew, .count = 4});
  steps.RunOnDevice();
  steps.ExpectTheBitsOfTheCpu();
  struct Counted final : HeldLaunch {
    int* started;
    explicit Counted(int* counter) : started(counter) {}
    void Start() override { ++*started; }
  };
  int started = 0;
  EXPECT_THROW(
      {
        HeldLaunches held;
        held.Hold(std::make_unique<Counted>(&started));
        throw std::runtime_error("in the midst");
      },
      std::runtime_error);
  EXPECT_EQ(started, 1);
  EXPECT_EQ(HeldLaunches::Current(), nullptr);
}

}  // namespace
}  // namespace repdl::testing
