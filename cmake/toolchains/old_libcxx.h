// SPDX-License-Identifier: MIT
// What the library uses of C++20 and libc++ lacks in Emscripten 3.1.6, Debian 12's; wasm.cmake has every file include it.
#pragma once

#include <version>

#if __cplusplus > 201703L && defined(_LIBCPP_VERSION) && _LIBCPP_VERSION < 14000

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <string>
#include <system_error>

namespace std {

template <class To, class From>
constexpr To bit_cast(const From& from) noexcept {
  return __builtin_bit_cast(To, from);
}

inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);
  char* end = nullptr;
  const double parsed = strtod(text.c_str(), &end);
  if (end == text.c_str()) return {first, errc::invalid_argument};
  value = parsed;
  return {first + (end - text.c_str()), errc()};
}

namespace ranges {

template <class Range, class T, class Of = identity>
auto find(Range&& range, const T& value, Of of = {}) {
  return std::find_if(std::begin(range), std::end(range), [&](const auto& x) { return std::invoke(of, x) == value; });
}
template <class Range, class Test>
bool all_of(Range&& range, Test test) {
  return std::all_of(std::begin(range), std::end(range), test);
}
template <class Range, class Less = std::less<>, class Of = identity>
void sort(Range&& range, Less less = {}, Of of = {}) {
  std::sort(std::begin(range), std::end(range),
            [&](const auto& a, const auto& b) { return less(std::invoke(of, a), std::invoke(of, b)); });
}
template <class Range, class T, class Less = std::less<>, class Of = identity>
auto lower_bound(Range&& range, const T& value, Less less = {}, Of of = {}) {
  return std::lower_bound(std::begin(range), std::end(range), value,
                          [&](const auto& x, const T& y) { return less(std::invoke(of, x), y); });
}

}  // namespace ranges
}  // namespace std

#endif
