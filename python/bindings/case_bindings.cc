// SPDX-License-Identifier: MIT
#include "case_bindings.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "repdl/error.h"
#include "repdl/golden.h"
#include "repdl/threads.h"
#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

nb::object ToPython(const Value& value) {
  struct Visitor {
    nb::object operator()(std::monostate) const { return nb::none(); }
    nb::object operator()(bool value) const { return nb::bool_(value); }
    nb::object operator()(int64_t value) const { return nb::int_(value); }
    nb::object operator()(double value) const { return nb::float_(value); }
    nb::object operator()(std::string_view text) const { return nb::str(text.data(), text.size()); }
    nb::object operator()(const IntList& list) const {
      nb::list numbers;
      for (int64_t number : list) numbers.append(number);
      return nb::tuple(numbers);
    }
    nb::object operator()(const TensorView& tensor) const {
      TensorView copy;
      nb::object array = Tensors().Make({tensor.dtype, tensor.shape}, copy);
      std::memcpy(copy.data, tensor.data, static_cast<size_t>(tensor.numel() * ItemSize(tensor.dtype)));
      return array;
    }
  };
  return std::visit(Visitor(), value);
}

/// Sets the number of threads while it lives.
class ThreadsScope {
 public:
  explicit ThreadsScope(int threads) { SetNumThreads(threads); }
  ~ThreadsScope() { SetNumThreads(saved_); }
  ThreadsScope(const ThreadsScope&) = delete;
  ThreadsScope& operator=(const ThreadsScope&) = delete;

 private:
  int saved_ = GetNumThreads();
};

}  // namespace

nb::tuple ReadCase(const std::string& text) {
  const Case test_case(text);
  nb::dict arguments;
  for (size_t i = 0; i < test_case.args().size(); ++i) {
    const std::string_view name = test_case.op().args[i].name;
    arguments[nb::str(name.data(), name.size())] = ToPython(test_case.args()[i]);
  }
  return nb::make_tuple(std::string(test_case.op().name), arguments);
}

nb::list ReadGoldenLines(const std::string& path) {
  nb::list lines;
  for (const GoldenLine& line : ReadGoldenFile(path)) {
    lines.append(nb::make_tuple(line.digest, line.marks, line.text));
  }
  return lines;
}

std::string RunCase(const std::string& text, std::string_view place, int threads) {
  const nb::gil_scoped_release release;
  const ThreadsScope scope(threads);
  Case test_case(text);
  return Digest(RunAt(place, test_case));
}

std::string ExplainCase(const std::string& digest, const std::string& marks, const std::string& text,
                        std::string_view place, int threads) {
  const nb::gil_scoped_release release;
  const ThreadsScope scope(threads);
  return Explain({digest, marks, text}, place);
}

}  // namespace repdl
