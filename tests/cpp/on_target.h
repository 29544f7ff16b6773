// SPDX-License-Identifier: MIT
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "repdl/target.h"
#include "repdl/threads.h"

namespace repdl::testing {

/// Gives the process its target and threads back, as they were when it was made.
class SettingsGivenBack {
 public:
  SettingsGivenBack() = default;
  SettingsGivenBack(const SettingsGivenBack&) = delete;
  SettingsGivenBack& operator=(const SettingsGivenBack&) = delete;
  ~SettingsGivenBack() {
    SetTarget(target_);
    SetNumThreads(threads_);
  }

 private:
  std::string_view target_ = ActiveTarget();
  int threads_ = GetNumThreads();
};

/// Tests on each target: the process has the parameter's.
class OnTarget : public ::testing::TestWithParam<std::string_view> {
 protected:
  OnTarget() { SetTarget(GetParam()); }

 private:
  SettingsGivenBack settings_;  // made before the body of the constructor
};

/// For INSTANTIATE_TEST_SUITE_P.
inline std::string NameOfTarget(const ::testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

}  // namespace repdl::testing
