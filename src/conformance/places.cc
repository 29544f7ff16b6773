// SPDX-License-Identifier: MIT
#include <algorithm>

#include "repdl/cuda.h"
#include "repdl/error.h"
#include "repdl/golden.h"
#include "repdl/target.h"

namespace repdl {
namespace {

/// Makes a target the active one while it lives.
class TargetScope {
 public:
  explicit TargetScope(std::string_view target) { SetTarget(target); }
  ~TargetScope() { SetTarget(saved_); }
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  std::string_view saved_ = ActiveTarget();
};

std::vector<std::string> CudaPlaces() {
  std::vector<std::string> places;
  const int count = static_cast<int>(CudaDevices().size());
  for (int i = 0; i < count; ++i) places.push_back(Name(Device{DeviceType::kCuda, i}));
  return places;
}

}  // namespace

std::vector<std::string> Places() {
  std::vector<std::string> places;
  for (std::string_view target : SupportedTargets()) places.emplace_back(target);
  const std::vector<std::string> devices = CudaPlaces();
  places.insert(places.end(), devices.begin(), devices.end());
  return places;
}

std::vector<TensorView> RunAt(std::string_view place, Case& test_case) {
  if (!place.starts_with("cuda:")) {
    const TargetScope scope(place);
    return test_case.Run();
  }
  const std::vector<std::string> devices = CudaPlaces();
  const auto found = std::find(devices.begin(), devices.end(), place);
  if (found == devices.end()) throw ValueError(Message("there is no CUDA device ", place));
  if (!test_case.op().HasCuda()) {
    throw NotImplementedError(Message('[', test_case.op().name, "] has no kernel for ", place));
  }
  return test_case.RunOnCuda(static_cast<int>(found - devices.begin()));
}

}  // namespace repdl
