// SPDX-License-Identifier: MIT
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace repdl {

/// An argument has a value that the op cannot take (Python: ValueError).
class ValueError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// An argument has the wrong type or dtype (Python: TypeError).
class TypeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// What was asked for is not part of this build or this device (Python: NotImplementedError).
class NotImplementedError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// Joins the parts into one message.
template <class... Parts>
std::string Message(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

}  // namespace repdl

/// Throws repdl::ValueError with the joined parts unless `condition` holds.
#define REPDL_CHECK(condition, ...)                             \
  do {                                                          \
    if (!(condition)) [[unlikely]] {                            \
      throw ::repdl::ValueError(::repdl::Message(__VA_ARGS__)); \
    }                                                           \
  } while (false)
