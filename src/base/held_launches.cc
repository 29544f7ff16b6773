// SPDX-License-Identifier: MIT
#include "repdl/held_launches.h"

#include <utility>

namespace repdl {
namespace {

thread_local HeldLaunches* current = nullptr;

}  // namespace

HeldLaunches::HeldLaunches() : outer_(current) { current = this; }

HeldLaunches::~HeldLaunches() {
  current = outer_;
  try {
    Start();  // after an error: the steps before it are done
  } catch (...) {
  }
}

void HeldLaunches::Start() {
  if (const std::unique_ptr<HeldLaunch> launch = std::move(waiting_)) launch->Start();
}

void HeldLaunches::StartAll() {
  if (current != nullptr) current->Start();
}

HeldLaunches* HeldLaunches::Current() { return current; }

void HeldLaunches::Hold(std::unique_ptr<HeldLaunch> launch) {
  Start();
  waiting_ = std::move(launch);
}

}  // namespace repdl
