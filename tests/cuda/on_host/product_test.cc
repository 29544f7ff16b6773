// SPDX-License-Identifier: MIT
// Products by every plan, whatever would choose it, against the kernel of the CPU: the golden files reach each tile and
// the split of sums, but neither tensors that are aligned nor every edge with every layout.
#include "drivers/matrix_product_cuda.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <deque>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/dispatch.h"
#include "cpp/relayout.h"
#include "cuda/digest_on_device.h"
#include "cuda/on_host/block.h"
#include "ops/mm/mm_kernel.h"
#include "repdl/conformance.h"
#include "repdl/ops/linear.h"
#include "repdl/ops/mm.h"
#include "repdl/target.h"

namespace repdl::testing {
namespace {

using cuda::ProductCall;
using cuda::ProductOperand;
using scalar::DeviceLoops;

constexpr ProductTiles kTiles[] = {ProductTiles::kLarge, ProductTiles::kSmall, ProductTiles::kFlat};

uint32_t schedule = 0;

/// A batch of matrices on the device in some layout.
class OnDevice {
 public:
  /// Rows, or columns, of a multiple of 16 bytes at such an address; or one of the layouts that are not aligned.
  static constexpr int kRows = Relayout::kNumKinds, kColumns = kRows + 1, kNumLayouts = kColumns + 1;

  OnDevice(const TensorView& tensor, int layout) : view_(tensor) {
    if (layout < Relayout::kNumKinds) {
      const Relayout host(tensor, static_cast<Relayout::Kind>(layout));
      view_ = host.view();
      Load(host.memory());
      return;
    }
    const int inner = tensor.rank() - (layout == kRows ? 1 : 2), outer = 2 * tensor.rank() - 3 - inner;
    view_.strides[inner] = 1;
    view_.strides[outer] = (tensor.shape[inner] + 3) / 4 * 4;
    int64_t size = view_.strides[outer] * tensor.shape[outer];
    for (int dim = tensor.rank() - 3; dim >= 0; --dim) view_.strides[dim] = size, size *= tensor.shape[dim];
    std::vector<std::byte> host(static_cast<size_t>(size * ItemSize(tensor.dtype)));
    view_.data = host.data();
    CopyElements(Place(), tensor, view_);
    Load(host);
  }

  /// With `lines` along a dimension of the matrices.
  template <class T>
  ProductOperand<T> Operand(int line_dim) const {
    const int dim = view_.rank() - 2 + line_dim, k_dim = view_.rank() - 1 - line_dim;
    Loops batch;
    for (int d = 0; d < view_.rank() - 2; ++d) batch.Append(view_.shape[d], view_.strides[d]);
    return {view_.Data<const T>(), view_.shape[dim], view_.strides[dim], view_.strides[k_dim], DeviceLoops(batch), {}};
  }

 private:
  void Load(std::span<const std::byte> host) {
    memory_.emplace_back(host);
    view_.data = memory_.back().data() + (static_cast<const std::byte*>(view_.data) - host.data());
  }

  TensorView view_;
  std::deque<DeviceMemory> memory_;
};

template <class T>
bool IsSame(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
}

/// A product of numbers of this type and kind, what it is on the CPU, and what plans make of it.
template <class T>
class Problem {
 public:
  Problem(const std::string& kind, int64_t batch, int64_t m, int64_t n, int64_t k, Order order = Order::kBlocked)
      : case_(Text(kind, batch, m, n, k)), call_{m, n, k, batch, ChainLength(order, k), {}, {}, nullptr, nullptr, 0} {
    want_.resize(static_cast<size_t>(batch * m * n));
    Mm(Argument(0), Argument(1), false, false, order, MakeView(want_.data(), kDTypeOf<T>, {batch, m, n}));
  }

  void AddBias() {
    bias_.resize(static_cast<size_t>(2 * call_.n));
    for (size_t j = 0; j < bias_.size(); ++j) bias_[j] = static_cast<T>(j) - 7;
    for (size_t i = 0; i < want_.size(); ++i) {
      want_[i] = want_[i] + bias_[2 * (i % static_cast<size_t>(call_.n))];
    }
  }

  ProductSizes Sizes() const { return call_.Sizes(); }

  void Try(const ProductPlan& plan, int a_layout, int b_layout) {
    const OnDevice a(Argument(0), a_layout), b(Argument(1), b_layout);
    const DeviceMemory c(want_.size() * sizeof(T)), bias(std::as_bytes(std::span(bias_)));
    ProductCall<T> call = call_;
    call.a.lines = call.m, call.b.lines = call.n;
    if (call.k > 0) call.a = a.Operand<T>(0), call.b = b.Operand<T>(1);
    call.c = reinterpret_cast<T*>(c.data());
    if (!bias_.empty()) call.bias = reinterpret_cast<const T*>(bias.data()), call.bias_stride = 2;
    on_host::SetSchedule(++schedule);
    cuda::Product(Place{"mm", kDevice}, call, plan);
    std::vector<T> got(want_.size());
    Must(cudaMemcpy(got.data(), c.data(), got.size() * sizeof(T), cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < got.size(); ++i) {
      if (IsSame(got[i], want_[i])) continue;
      ADD_FAILURE() << "number " << i << " is " << got[i] << " instead of " << want_[i] << ": " << call.m << " x "
                    << call.n << " x " << call.k << ", batch " << call.batch << ", chains of " << call.chain
                    << ", tiles " << static_cast<int>(plan.tiles) << (plan.transposed ? " of the transpose, " : ", ")
                    << plan.num_parts << " parts, layouts " << a_layout << " and " << b_layout << ", schedule "
                    << schedule;
      return;
    }
  }

 private:
  static std::string Text(const std::string& kind, int64_t batch, int64_t m, int64_t n, int64_t k) {
    const std::string type = kind + (sizeof(T) == 8 ? ".float64[" : "[") + std::to_string(batch) + ", ";
    return "mm(input=" + type + std::to_string(m) + ", " + std::to_string(k) + "]#1, mat2=" + type + std::to_string(k) +
           ", " + std::to_string(n) + "]#2, order='blocked')";
  }
  TensorView Argument(size_t i) const { return std::get<TensorView>(case_.args()[i]); }

  Case case_;
  ProductCall<T> call_;
  std::vector<T> want_, bias_;
};

/// Compares with the slowest target, whose text is the plainest.
class OnScalar : public ::testing::Test {
 protected:
  void SetUp() override { SetTarget("scalar"); }
  void TearDown() override { SetTarget(before_); }

 private:
  std::string before_{ActiveTarget()};
};

template <class T>
class CudaProduct : public OnScalar {};
using Numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(CudaProduct, Numbers);

TYPED_TEST(CudaProduct, TakesEveryLayout) {
  for (const ProductTiles tiles : kTiles) {
    const TileSize tile = SizeOf(tiles, sizeof(TypeParam));
    // A tile and a part of one in each direction, which ends within a piece of 16 bytes.
    Problem<TypeParam> problem("wide", 2, tile.rows + 3, tile.cols + 5, 21);
    for (int a = 0; a < OnDevice::kNumLayouts; ++a) {
      for (int b = 0; b < OnDevice::kNumLayouts; ++b) {
        problem.Try(PlanOf(problem.Sizes(), tiles, (a + b) % 2 != 0, 1), a, b);
      }
    }
  }
}

TYPED_TEST(CudaProduct, SumsInTheOrderOfTheContract) {
  for (const ProductTiles tiles : kTiles) {
    for (const int64_t k : {0, 1, 7, 8, 9, 16, 17, 255, 256, 257, 511, 512, 513, 1023, 1024, 1281, 1792, 2055}) {
      Problem<TypeParam> problem("normal", 1, 3, 9, k);
      for (const int64_t part_chunks : {1, 2, 4, 8, 16}) {
        problem.Try(PlanOf(problem.Sizes(), tiles, part_chunks == 2, part_chunks), OnDevice::kRows, OnDevice::kRows);
      }
    }
    Problem<TypeParam> problem("normal", 1, 3, 9, 600, Order::kSequential);
    problem.Try(PlanOf(problem.Sizes(), tiles, false, 1), OnDevice::kColumns, OnDevice::kRows);
  }
}

TYPED_TEST(CudaProduct, KeepsSpecialValues) {
  for (const char* kind : {"special", "bits", "tiny", "infinite"}) {
    for (const ProductTiles tiles : kTiles) {
      Problem<TypeParam> problem(kind, 1, 11, 13, 530);
      problem.Try(PlanOf(problem.Sizes(), tiles, false, 1), OnDevice::kColumns, OnDevice::kRows);
      problem.Try(PlanOf(problem.Sizes(), tiles, false, 4), OnDevice::kRows, OnDevice::kColumns);
    }
  }
}

TYPED_TEST(CudaProduct, AddsABiasAtTheEnd) {
  for (const ProductTiles tiles : kTiles) {
    Problem<TypeParam> problem("normal", 3, 6, 10, 300);
    problem.AddBias();
    for (const bool transposed : {false, true}) {
      for (const int64_t part_chunks : {1, 2}) {
        problem.Try(PlanOf(problem.Sizes(), tiles, transposed, part_chunks), OnDevice::kRows, OnDevice::kColumns);
      }
    }
  }
}

TYPED_TEST(CudaProduct, ComesAroundAgain) {
  // More tiles than run at once, of bands that end early; a block goes on with another tile in the same memory.
  Problem<TypeParam> problem("normal", 1, 17 * 16 - 5, 2 * 128 + 1, 520);
  problem.Try(PlanOf(problem.Sizes(), ProductTiles::kFlat, false, 4), OnDevice::kRows, OnDevice::kRows);
  problem.Try(PlanOf(problem.Sizes(), ProductTiles::kFlat, false, 1), OnDevice::kRows, OnDevice::kColumns);
  Problem<TypeParam> many("normal", 9, 65, 70, 24);
  many.Try(PlanOf(many.Sizes(), ProductTiles::kSmall, false, 1), OnDevice::kRows, OnDevice::kRows);
}

TYPED_TEST(CudaProduct, ManyMatrices) {
  Problem<TypeParam> problem("normal", 70000, 1, 1, 1);
  problem.Try(PlanProduct(problem.Sizes(), 132), OnDevice::kRows, OnDevice::kRows);
}

TEST(CudaProducts, OffsetsOfMoreThan32Bits) {
  // Memory of which a few pages are touched.
  constexpr int64_t kM = 3, kK = 5, kRowStride = 9'000'000'001, kStride = 1'400'000'003;
  const auto size = static_cast<size_t>((kM - 1) * kRowStride + (kK - 1) * kStride + 1) * sizeof(float);
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no room for addresses";
  auto* const data = static_cast<float*>(memory);
  float sums[kM] = {};
  for (int64_t i = 0; i < kM; ++i) {
    for (int64_t k = 0; k < kK; ++k) {
      data[i * kRowStride + k * kStride] = static_cast<float>(i + k);
      sums[i] += static_cast<float>(i + k);
    }
  }
  const std::vector<float> ones(kK, 1.0f);
  const DeviceMemory b(std::as_bytes(std::span(ones))), c(sizeof sums);
  ProductCall<float> call{kM, 1, kK, 1, kProductChunk, {}, {}, reinterpret_cast<float*>(c.data()), nullptr, 0};
  call.a = {data, kM, kRowStride, kStride, {}, {}};
  call.b = {reinterpret_cast<const float*>(b.data()), 1, 1, 1, {}, {}};
  for (const ProductTiles tiles : kTiles) {
    cuda::Product(Place{"mm", kDevice}, call, PlanOf(call.Sizes(), tiles, false, 1));
    EXPECT_EQ(std::memcmp(c.data(), sums, sizeof sums), 0);
  }
  munmap(memory, size);

  Loops loops;
  loops.shape = {3, 5'000'000'000, 7}, loops.strides = {11, -2, 1'000'000'007};
  const DeviceLoops on_device(loops);
  for (const int64_t i : {int64_t{0}, int64_t{34'999'999'999}, int64_t{104'999'999'999}}) {
    EXPECT_EQ(on_device.Offset(i), loops.Offset(i)) << i;
  }
}

TEST(CudaProducts, EachUnitOfWorkIsDoneOnce) {
  for (const int64_t tile_rows : {1, 7, 8, 9, 20}) {
    cuda::MatrixProductArgs<float> args{{}, {}, Chunks(1, 1)};
    args.tile_rows = tile_rows, args.tile_cols = 3, args.num_parts = 2;
    std::set<std::vector<int64_t>> units;
    const int64_t count = 2 * 2 * tile_rows * 3;
    for (int64_t i = 0; i < count; ++i) {
      const cuda::ProductUnit unit = cuda::UnitOf(args, i);
      EXPECT_TRUE(unit.row < tile_rows && unit.col < 3 && unit.part < 2 && unit.matrix < 2);
      units.insert({unit.matrix, unit.part, unit.row, unit.col});
    }
    EXPECT_EQ(units.size(), static_cast<size_t>(count));
  }
}

TEST(CudaProducts, PlansFillTheDevice) {
  const auto plan = [](int64_t m, int64_t n, int64_t k) {
    return PlanProduct({m, n, k, 1, kProductChunk, sizeof(float)}, 132);
  };
  // Many tiles, no parts; few, and parts of the sums; few rows, or columns.
  EXPECT_EQ(plan(8192, 8192, 8192).tiles, ProductTiles::kLarge);
  EXPECT_EQ(plan(8192, 8192, 8192).num_parts, 1);
  EXPECT_EQ(plan(128, 128, 65536).part_terms % kProductChunk, 0);
  EXPECT_GT(plan(128, 128, 65536).num_parts, 64);
  EXPECT_EQ(plan(1, 4096, 4096).tiles, ProductTiles::kFlat);
  EXPECT_FALSE(plan(1, 4096, 4096).transposed);
  EXPECT_GT(plan(1, 4096, 4096).num_parts, 1);
  EXPECT_TRUE(plan(4096, 1, 4096).transposed);
  EXPECT_LE(plan(1, 1, int64_t{1} << 40).num_parts, kMaxParts);
  // One chain is never cut.
  EXPECT_EQ(PlanProduct({1, 1, 100'000, 1, 100'000, sizeof(float)}, 132).num_parts, 1);
  EXPECT_EQ(plan(5, 5, 0).num_parts, 1);
}

TEST(CudaProducts, LinearCopiesNothing) {
  // Rows that no single step reaches, and a bias with a step, which the CPU copies to scratch memory.
  std::vector<float> x(400), weight(6 * 5), bias(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23) - 11;
  for (size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i % 7) - 3;
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i);
  TensorView input = MakeView(x.data(), {3, 4, 5}), step = MakeView(bias.data(), {6});
  input.strides = {6, 100, 1};
  step.strides = {2};
  std::vector<float> want(3 * 4 * 6), got(want.size());
  Linear(input, MakeView(weight.data(), {6, 5}), step, Order::kBlocked, MakeView(want.data(), {3, 4, 6}));
  const DeviceMemory on_device[] = {DeviceMemory(std::as_bytes(std::span(x))),
                                    DeviceMemory(std::as_bytes(std::span(weight))),
                                    DeviceMemory(std::as_bytes(std::span(bias))), DeviceMemory(72 * sizeof(float))};
  input.data = on_device[0].data(), input.device = kDevice;
  step.data = on_device[2].data(), step.device = kDevice;
  Linear(input, MakeView(on_device[1].data(), DType::kFloat32, {6, 5}, kDevice), step, Order::kBlocked,
         MakeView(on_device[3].data(), DType::kFloat32, {3, 4, 6}, kDevice));
  Must(cudaMemcpy(got.data(), on_device[3].data(), 72 * sizeof(float), cudaMemcpyDeviceToHost));
  EXPECT_EQ(got, want);
}

}  // namespace
}  // namespace repdl::testing
