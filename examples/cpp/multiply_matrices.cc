// SPDX-License-Identifier: MIT
//
// Multiplies two matrices in both orders and prints the SHA-256 of each product: the same on every CPU, for any
// number of threads. From the root of RepDL:
//
//     cmake -S . -B build/release -DREPDL_BUILD_TESTS=OFF && cmake --build build/release --parallel
//     cmake --install build/release --component development --prefix build/prefix
//     cmake -S examples/cpp -B build/example -DCMAKE_PREFIX_PATH=$PWD/build/prefix && cmake --build build/example
//
// Then try `build/example/multiply_matrices`, with REPDL_TARGET=scalar, or with OMP_NUM_THREADS=1.
#include <cstdint>
#include <exception>
#include <iostream>
#include <vector>

#include "repdl/digest.h"
#include "repdl/ops/mm.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace {

/// Element i comes from the 64 bits SplitMix64(seed * 2^32 + i): the sum of its four 16-bit parts, less 131070, in
/// units of 2^-15. It is `normal[rows, columns]#seed` of repdl/conformance.h, and exact on every machine.
std::vector<float> MakeMatrix(int64_t rows, int64_t columns, uint64_t seed) {
  std::vector<float> matrix(static_cast<size_t>(rows * columns));
  uint64_t counter = seed << 32;
  for (float& element : matrix) {
    uint64_t x = ++counter * 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    x ^= x >> 31;
    const uint64_t sum = (x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48);
    element = static_cast<float>(static_cast<int64_t>(sum) - 131070) * 0x1p-15f;
  }
  return matrix;
}

void MultiplyMatrices() {
  constexpr int64_t m = 29, k = 769, n = 65;
  const std::vector<float> a = MakeMatrix(m, k, 1), b = MakeMatrix(k, n, 2);
  std::vector<float> product(m * n);
  const repdl::TensorView input = repdl::MakeView(a.data(), {m, k});
  const repdl::TensorView mat2 = repdl::MakeView(b.data(), {k, n});
  const repdl::TensorView output = repdl::MakeView(product.data(), {m, n});
  std::cout << Name(input.shape) << " x " << Name(mat2.shape) << " on " << repdl::ActiveTarget() << ", "
            << repdl::GetNumThreads() << " thread(s)\n";
  for (const repdl::Order order : {repdl::Order::kBlocked, repdl::Order::kSequential}) {
    repdl::Mm(input, mat2, /*transA=*/false, /*transB=*/false, order, output);
    std::cout << Name(order) << ' ' << repdl::Digest(output) << '\n';
  }
}

}  // namespace

int main() {
  try {
    MultiplyMatrices();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
