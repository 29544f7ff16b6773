// SPDX-License-Identifier: MIT
#include "drivers/index_terms_cpu-inl.h"
#include "ops/index_add/index_add_kernel.h"

HWY_BEFORE_NAMESPACE();
namespace repdl::HWY_NAMESPACE {
namespace {

#include "ops/index_add/index_add.row.h"

template <Factors kFactors, class T>
void SumWith(const IndexSumArgs<T>& args) {
  const AddTerm<T, kFactors> step{args.factors, args.factor_stride, args.divisors};
  TermsOfRows(args.terms, step).Run();
}

template <class T>
void SumByIndex(const IndexSumArgs<T>& args) {
  if (args.divisors != nullptr) return SumWith<Factors::kFactorAndDivisor>(args);
  args.factors != nullptr ? SumWith<Factors::kFactor>(args) : SumWith<Factors::kNone>(args);
}

}  // namespace

void IndexSumKernel(const IndexSumArgs<float>& args) { SumByIndex(args); }
void IndexSumKernel(const IndexSumArgs<double>& args) { SumByIndex(args); }
void ScatterAddKernel(const NumberTerms<float>& args) { TakeTermsOfNumbers(args, AddTerm<float, Factors::kNone>()); }
void ScatterAddKernel(const NumberTerms<double>& args) { TakeTermsOfNumbers(args, AddTerm<double, Factors::kNone>()); }

}  // namespace repdl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
