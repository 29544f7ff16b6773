// SPDX-License-Identifier: MIT
// A program of libFuzzer; REPDL_FUZZ names the function.
#include <cstdlib>
#include <iostream>

#include "fuzz/fuzz.h"

extern "C" __attribute__((visibility("default"))) int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string wrong = repdl::testing::REPDL_FUZZ({data, size});
  if (!wrong.empty()) {
    std::cerr << wrong << '\n';
    std::abort();
  }
  return 0;
}
