// SPDX-License-Identifier: MIT
#pragma once

#include <memory>

namespace repdl {

/// What kernels of a device have put together, to be started later and as one.
class HeldLaunch {
 public:
  virtual ~HeldLaunch() = default;
  virtual void Start() = 0;
};

/// While one lives, steps of many tensors in this thread share launches: a kernel may put what it has to do beside what
/// waits, instead of starting it. Nothing may use the results before Start(), and the tensors must live as long.
class HeldLaunches {
 public:
  HeldLaunches();
  ~HeldLaunches();
  HeldLaunches(const HeldLaunches&) = delete;
  HeldLaunches& operator=(const HeldLaunches&) = delete;

  /// Starts what waits.
  void Start();

  /// Starts what waits in this thread, if anything does. For what reads or writes tensors that a kernel which may wait has.
  static void StartAll();

  /// Where kernels of this thread may wait, or null.
  static HeldLaunches* Current();

  /// What waits, if it is of this kind, or else null.
  template <class Launch>
  Launch* Waiting() const {
    return dynamic_cast<Launch*>(waiting_.get());
  }

  /// What waits from now on; what did so before is started.
  void Hold(std::unique_ptr<HeldLaunch> launch);

 private:
  HeldLaunches* outer_;
  std::unique_ptr<HeldLaunch> waiting_;
};

}  // namespace repdl
