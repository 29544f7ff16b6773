// SPDX-License-Identifier: MIT
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// max(x, 0), of NaN NaN.
template <class T>
T Above(T x) {
  return x < 0 ? T{0} : x;
}

/// The terms of multi_margin, or their slopes, before a division.
template <class T>
Numbers<T> TermsOf(const Arguments& args, bool slopes) {
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Numbers<T> weight = args.NumbersOf<T>("weight");
  const Indices target = args.IndicesOf("target");
  const int64_t classes = args.Shape("input")[1];
  const bool squared = args.Int("p") == 2;
  const T margin = static_cast<T>(args.Number("margin"));
  Numbers<T> terms(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const int64_t row = static_cast<int64_t>(i) / classes;
    const int64_t right = target[row];
    if (static_cast<int64_t>(i) % classes == right) continue;
    const T away = margin - x[row * classes + right];
    const T reach = Above(away + x[i]);
    if (slopes) {
      terms[i] = squared ? reach * 2 : reach > 0 ? T{1} : T{0};
    } else {
      terms[i] = squared ? reach * reach : reach;
    }
    if (!weight.empty()) terms[i] = terms[i] * weight[right];
  }
  return terms;
}

/// The classes of a row that are labels, in order.
Indices LabelsOf(const Indices& target, int64_t row, int64_t classes) {
  Indices labels;
  for (int64_t i = row * classes; i < (row + 1) * classes && target[i] != -1; ++i) labels.push_back(target[i]);
  return labels;
}

/// Of each class, whether it is one of the labels.
std::vector<bool> AreLabels(const Indices& labels, int64_t classes) {
  std::vector<bool> are(classes);
  for (const int64_t label : labels) are[label] = true;
  return are;
}

}  // namespace

template <class T>
static Results RunMultiMargin(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> terms = TermsOf<T>(args, /*slopes=*/false);
  Numbers<T> losses;
  for (int64_t row = 0; row < shape[0]; ++row) {
    SumOf<T> sum(args.TheOrder());
    for (int64_t j = 0; j < shape[1]; ++j) sum.Add(terms[row * shape[1] + j]);
    losses.push_back(sum.Result() / static_cast<T>(shape[1]));
  }
  Results results;
  Append(results, losses, args.OutputShape());
  return results;
}

template <class T>
static Results RunMultiMarginGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> g = args.NumbersOf<T>("grad_output");
  const Indices target = args.IndicesOf("target");
  const T part = static_cast<T>(args.Number("part"));
  Numbers<T> slopes = TermsOf<T>(args, /*slopes=*/true);
  for (int64_t row = 0; row < shape[0]; ++row) {
    SumOf<T> sum(args.TheOrder());
    for (int64_t j = 0; j < shape[1]; ++j) {
      T& slope = slopes[row * shape[1] + j];
      slope = slope / static_cast<T>(shape[1]);
      sum.Add(slope);
    }
    slopes[row * shape[1] + target[row]] = -sum.Result();
    const T of_row = part * g[row];
    for (int64_t j = 0; j < shape[1]; ++j) slopes[row * shape[1] + j] *= of_row;
  }
  Results results;
  Append(results, slopes, args.OutputShape());
  return results;
}

template <class T>
static Results RunMultilabelMargin(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Indices target = args.IndicesOf("target");
  Numbers<T> losses;
  Numbers<T> is_target;
  for (int64_t row = 0; row < shape[0]; ++row) {
    const Indices labels = LabelsOf(target, row, shape[1]);
    const std::vector<bool> is_label = AreLabels(labels, shape[1]);
    SumOf<T> sum(args.TheOrder());
    for (const int64_t label : labels) {
      const T away = 1 - x[row * shape[1] + label];
      for (int64_t j = 0; j < shape[1]; ++j) sum.Add(is_label[j] ? T{0} : Above(away + x[row * shape[1] + j]));
    }
    losses.push_back(sum.Result() / static_cast<T>(shape[1]));
    for (int64_t j = 0; j < shape[1]; ++j) is_target.push_back(is_label[j] ? 1 : 0);
  }
  Results results;
  Append(results, losses, args.OutputShape(0));
  Append(results, is_target, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunMultilabelMarginGrad(const Case& test_case) {
  const Arguments args(test_case);
  const IntList shape = args.Shape("input");
  const Numbers<T> x = args.NumbersOf<T>("input");
  const Numbers<T> g = args.NumbersOf<T>("grad_output");
  const Indices target = args.IndicesOf("target");
  const T part = static_cast<T>(args.Number("part"));
  Numbers<T> slopes(x.size());
  for (int64_t row = 0; row < shape[0]; ++row) {
    const Indices labels = LabelsOf(target, row, shape[1]);
    const std::vector<bool> is_label = AreLabels(labels, shape[1]);
    for (const int64_t label : labels) {
      const T away = 1 - x[row * shape[1] + label];
      for (int64_t j = 0; j < shape[1]; ++j) {
        if (is_label[j] || !(Above(away + x[row * shape[1] + j]) > 0)) continue;
        slopes[row * shape[1] + j] += 1;
        slopes[row * shape[1] + label] -= 1;
      }
    }
    const T of_row = part * g[row];
    for (int64_t j = 0; j < shape[1]; ++j) {
      T& slope = slopes[row * shape[1] + j];
      slope = slope / static_cast<T>(shape[1]);
      slope = slope * of_row;
    }
  }
  Results results;
  Append(results, slopes, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"multi_margin", REPDL_EITHER(RunMultiMargin)},
                          {"multi_margin_grad", REPDL_EITHER(RunMultiMarginGrad)},
                          {"multilabel_margin", REPDL_EITHER(RunMultilabelMargin)},
                          {"multilabel_margin_grad", REPDL_EITHER(RunMultilabelMarginGrad)}};

}  // namespace repdl::reference
