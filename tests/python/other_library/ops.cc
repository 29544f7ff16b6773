// SPDX-License-Identifier: MIT
// A library with compiled ops for torch, by its stable ABI: what a user would write. For test_other_libraries.
#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

using torch::stable::Tensor;

namespace {

template <class Function>
Tensor EachNumber(const Tensor& x, Function function) {
  Tensor packed = torch::stable::clone(torch::stable::contiguous(x));
  float* numbers = static_cast<float*>(packed.data_ptr());
  for (int64_t i = 0; i < packed.numel(); ++i) numbers[i] = function(numbers[i]);
  return packed;
}

// Exact.
Tensor Negated(Tensor x) {
  return EachNumber(x, [](float number) { return -number; });
}

// Of a sum the order depends on the number of threads.
Tensor SumByThreads(Tensor x) {
  Tensor packed = torch::stable::contiguous(x);
  const float* numbers = static_cast<const float*>(packed.const_data_ptr());
  const int64_t size = packed.numel(), parts = torch::stable::get_num_threads();
  float total = 0;
  for (int64_t part = 0; part < parts; ++part) {
    float sum = 0;
    for (int64_t i = size * part / parts; i < size * (part + 1) / parts; ++i) sum += numbers[i];
    total += sum;
  }
  return EachNumber(torch::stable::narrow(packed, 0, 0, 1), [total](float) { return total; });
}

// What an instruction set might change.
Tensor ThirdsByMachine(Tensor x) {
  const char* set = std::getenv("ATEN_CPU_CAPABILITY");
  const bool is_old = set != nullptr && std::strcmp(set, "default") == 0;
  return EachNumber(x, [is_old](float number) { return is_old ? number * (1.0f / 3.0f) : number / 3.0f; });
}

// Reads memory in its order, whatever the strides are.
Tensor NegatedMemory(Tensor x) {
  Tensor result = torch::stable::clone(torch::stable::contiguous(x));
  const float* from = static_cast<const float*>(x.const_data_ptr());
  float* to = static_cast<float*>(result.data_ptr());
  for (int64_t i = 0; i < result.numel(); ++i) to[i] = -from[i];
  return result;
}

// The sign of a zero depends on the instruction set, and of no other number anything.
Tensor PositiveZeros(Tensor x) {
  const char* set = std::getenv("ATEN_CPU_CAPABILITY");
  const bool is_old = set != nullptr && std::strcmp(set, "default") == 0;
  return EachNumber(x, [is_old](float number) { return number == 0 && !is_old ? 0.0f : number; });
}

// Subtracts the first number of the batch from each.
Tensor LessFirst(Tensor x) {
  const float first = *static_cast<const float*>(torch::stable::contiguous(x).const_data_ptr());
  return EachNumber(x, [first](float number) { return number - first; });
}

// Other numbers with each call.
Tensor Counted(Tensor x) {
  static float calls = 0;
  ++calls;
  return EachNumber(x, [](float number) { return number + calls; });
}

// Made of a call of torch.
Tensor Product(Tensor x) { return torch::stable::matmul(x, torch::stable::transpose(x, 0, 1)); }

Tensor Ones(int64_t size) { return torch::stable::full({size}, 1.0); }

int64_t Answer() { return 42; }

}  // namespace

STABLE_TORCH_LIBRARY(repdl_test, m) {
  for (const char* name :
       {"negated", "sum_by_threads", "thirds_by_machine", "negated_memory", "positive_zeros", "less_first", "counted",
        "composite", "explicit", "product", "autograd_only", "without_kernel", "replaced"}) {
    m.def((std::string(name) + "(Tensor x) -> Tensor").c_str());
  }
  m.def("ones(int size) -> Tensor");
  m.def("answer() -> int");
}
STABLE_TORCH_LIBRARY_IMPL(repdl_test, CPU, m) {
  m.impl("negated", TORCH_BOX(&Negated));
  m.impl("sum_by_threads", TORCH_BOX(&SumByThreads));
  m.impl("thirds_by_machine", TORCH_BOX(&ThirdsByMachine));
  m.impl("negated_memory", TORCH_BOX(&NegatedMemory));
  m.impl("positive_zeros", TORCH_BOX(&PositiveZeros));
  m.impl("less_first", TORCH_BOX(&LessFirst));
  m.impl("counted", TORCH_BOX(&Counted));
  m.impl("replaced", TORCH_BOX(&Negated));
}
STABLE_TORCH_LIBRARY_IMPL(repdl_test, CompositeExplicitAutograd, m) {
  m.impl("explicit", TORCH_BOX(&Negated));
  m.impl("ones", TORCH_BOX(&Ones));
}
STABLE_TORCH_LIBRARY_IMPL(repdl_test, CompositeImplicitAutograd, m) {
  m.impl("composite", TORCH_BOX(&Negated));
  m.impl("product", TORCH_BOX(&Product));
  m.impl("answer", TORCH_BOX(&Answer));
}
STABLE_TORCH_LIBRARY_IMPL(repdl_test, Autograd, m) { m.impl("autograd_only", TORCH_BOX(&Negated)); }
