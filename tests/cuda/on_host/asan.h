// SPDX-License-Identifier: MIT
// REPDL_ASAN is defined where the address sanitizer is on, with what it wants to be told.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define REPDL_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define REPDL_ASAN 1
#endif
#endif
#ifdef REPDL_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
