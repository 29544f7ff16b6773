// SPDX-License-Identifier: MIT
// Reads cases, one a line, and prints the digest of each as the reference computes it. With --compare it also
// runs the library and reports every case where the two differ.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <string>

#include "reference.h"

namespace {

using repdl::Case;
using repdl::DType;
using repdl::TensorView;

/// Equal as digests read elements: bit by bit, but every NaN is the same.
bool SameFloat(float a, float b) { return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0; }

/// Says where two results first differ. Returns whether they do.
bool ReportDifference(const std::vector<TensorView>& reference, const std::vector<TensorView>& library) {
  if (reference.size() != library.size()) {
    std::fprintf(stderr, "  reference gives %zu tensors, library %zu\n", reference.size(), library.size());
    return true;
  }
  for (size_t t = 0; t < reference.size(); ++t) {
    const TensorView& r = reference[t];
    const TensorView& l = library[t];
    if (r.dtype != l.dtype || r.shape != l.shape) {
      std::fprintf(stderr, "  tensor %zu: reference is %s%s, library %s%s\n", t, Name(r.dtype).data(),
                   Name(r.shape).c_str(), Name(l.dtype).data(), Name(l.shape).c_str());
      return true;
    }
    for (int64_t i = 0; i < r.numel(); ++i) {
      if (r.dtype == DType::kFloat32) {
        const float a = r.Data<float>()[i];
        const float b = l.Data<float>()[i];
        if (SameFloat(a, b)) continue;
        std::fprintf(stderr, "  tensor %zu, element %lld: reference %a, library %a\n", t, static_cast<long long>(i), a,
                     b);
        return true;
      }
      const int64_t a = r.Data<int64_t>()[i];
      const int64_t b = l.Data<int64_t>()[i];
      if (a == b) continue;
      std::fprintf(stderr, "  tensor %zu, element %lld: reference %lld, library %lld\n", t, static_cast<long long>(i),
                   static_cast<long long>(a), static_cast<long long>(b));
      return true;
    }
  }
  return false;
}

/// Returns whether the library agrees with `reference`, the reference's results and their digest.
bool Agrees(const std::string& line, const repdl::reference::Results& reference, const std::string& digest) {
  Case test_case(line);  // an op may change its tensors, so each side has its own
  const std::vector<TensorView> library = test_case.Run();
  if (repdl::Digest(library) == digest) return true;
  std::fprintf(stderr, "%s differs: %s\n", std::string(test_case.op().name).c_str(), line.c_str());
  if (!ReportDifference(reference.tensors, library)) std::fprintf(stderr, "  no element differs, only the digests\n");
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  bool compare = false;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--compare") != 0) {
      std::fprintf(stderr, "usage: repdl_reference [--compare] < cases\n");
      return 2;
    }
    compare = true;
  }

  int wrong = 0;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    try {
      const Case test_case(line);
      const repdl::reference::Results results = repdl::reference::Run(test_case);
      const std::string digest = repdl::Digest(results.tensors);
      std::printf("%s  %s\n", digest.c_str(), line.c_str());
      if (compare && !Agrees(line, results, digest)) ++wrong;
    } catch (const std::exception& error) {
      std::fprintf(stderr, "error: %s\n  %s\n", line.c_str(), error.what());
      ++wrong;
    }
  }
  return wrong == 0 ? 0 : 1;
}
