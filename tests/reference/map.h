// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "reference.h"
#include "tensors.h"

namespace repdl::reference {

/// function(input) of each element.
template <class T, class Function>
Results Map(const Case& test_case, Function function) {
  const Arguments args(test_case);
  Numbers<T> values = args.NumbersOf<T>("input");
  for (T& x : values) x = function(x);
  Results results;
  Append(results, values, args.OutputShape(), args.OutputType());
  return results;
}

/// The tensor with shape `from`, broadcast to the shape `to`.
template <class T>
Numbers<T> Broadcast(const Numbers<T>& data, const IntList& from, const IntList& to) {
  Numbers<T> result(Size(to));
  for (int64_t i = 0; i < Size(to); ++i) {
    int64_t rest = i;
    int64_t at = 0;
    int64_t step = 1;
    for (int d = 1; d <= from.size(); ++d) {  // from the last dimension to the first
      const int64_t length = from[from.size() - d];
      if (length != 1) at += rest % to[to.size() - d] * step;
      rest /= to[to.size() - d];
      step *= length;
    }
    result[i] = data[at];
  }
  return result;
}

/// function(first, second) of two tensors that are broadcast to the shape of the output.
template <class T, class Function>
Results MapTwo(const Case& test_case, std::string_view first, std::string_view second, Function function) {
  const Arguments args(test_case);
  const IntList shape = args.OutputShape();
  Results results;
  Append(results,
         function(Broadcast(args.NumbersOf<T>(first), args.Shape(first), shape),
                  Broadcast(args.NumbersOf<T>(second), args.Shape(second), shape)),
         shape, args.OutputType());
  return results;
}

}  // namespace repdl::reference
