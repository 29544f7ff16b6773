// SPDX-License-Identifier: MIT
// What a torch without CUDA lacks of a CUDA device, as the device on the host needs it: it is always current, has a stream
// whose handle is known, and generators whose state is a seed and an offset. All else is in device.py.
#include <ATen/EmptyTensor.h>
#include <ATen/core/Generator.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>

namespace {

const c10::Device kDevice(c10::kCUDA, 0);

struct Guard : c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> {
  c10::Device exchangeDevice(c10::Device /*unused*/) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Stream getStream(c10::Device /*unused*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream exchangeStream(c10::Stream /*unused*/) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  void* getStreamNativeHandle(const c10::Stream /*unused*/) const override { return reinterpret_cast<void*>(0x57e4); }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

struct Generator : c10::GeneratorImpl {
  explicit Generator(c10::Device device) : GeneratorImpl{device, c10::DispatchKeySet(c10::DispatchKey::CUDA)} {}
  void set_current_seed(uint64_t seed) override { state_[0] = seed, state_[1] = 0; }
  void set_offset(uint64_t offset) override { state_[1] = offset; }
  uint64_t get_offset() const override { return state_[1]; }
  uint64_t current_seed() const override { return state_[0]; }
  uint64_t seed() override {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return state_[0];
  }
  void set_state(const c10::TensorImpl& state) override { std::memcpy(state_, state.data(), sizeof state_); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    at::TensorBase state = at::detail::empty_cpu({sizeof state_}, c10::ScalarType::Byte);
    std::memcpy(state.mutable_data_ptr(), state_, sizeof state_);
    return state.getIntrusivePtr();
  }
  Generator* clone_impl() const override {
    auto* clone = new Generator(device());
    std::memcpy(clone->state_, state_, sizeof state_);
    return clone;
  }

  uint64_t state_[2] = {c10::default_rng_seed_val, 0};
};

struct CUDAHooks : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs /*unused*/) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex /*unused*/) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  int getNumGPUs() const override { return 1; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex /*unused*/) const override {
    static const at::Generator generator = getNewGenerator(0);
    return generator;
  }
  at::Generator getNewGenerator(c10::DeviceIndex /*unused*/) const override {
    return at::make_generator<Generator>(kDevice);
  }
  bool isPinnedPtr(const void* /*unused*/) const override { return false; }
};

}  // namespace

namespace at {
using ::CUDAHooks;
REGISTER_CUDA_HOOKS(CUDAHooks)  // torch asks for them by this name
}  // namespace at
