// SPDX-License-Identifier: MIT
#include "loss.h"

#include <limits>
#include <stdexcept>

#include "functions.h"
#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// The parts of docs/arithmetic.md, cross_entropy, that loss and gradient share.
template <class T>
class Problem {
 public:
  Problem(const Layout& layout, const Target<T>& target, const CrossEntropyOptions<T>& options)
      : layout_(layout),
        target_(target),
        options_(options),
        a_(static_cast<T>(1.0 - options.label_smoothing)),
        b_(static_cast<T>(options.label_smoothing / static_cast<double>(layout.length))) {}

  bool weighted() const { return !options_.weight.empty(); }
  bool smooth() const { return options_.label_smoothing != 0.0; }
  T a() const { return a_; }
  T b() const { return b_; }
  bool Ignored(int64_t row) const { return !target_.probabilities && target_.classes[row] == options_.ignore_index; }
  int64_t Class(int64_t row) const {
    const int64_t t = target_.classes[row];
    if (t < 0 || t >= layout_.length) throw std::logic_error("a target of cross_entropy is not a class");
    return t;
  }
  T Weight(int64_t i) const { return weighted() ? options_.weight[i] : T{1}; }
  T Probability(int64_t row, int64_t i) const {
    const T t = target_.probability[layout_.At(row, i)];
    return smooth() ? a_ * t + b_ : t;
  }

  /// float32(1 / M).
  T PerSample() const {
    int64_t samples = 0;
    for (int64_t row = 0; row < layout_.rows(); ++row) samples += !Ignored(row);
    return static_cast<T>(1.0 / static_cast<double>(samples));
  }

  /// The Sum of the weights of the targets.
  T TargetWeights() const {
    SumOf<T> sum(options_.order);
    for (int64_t row = 0; row < layout_.rows(); ++row) sum.Add(Ignored(row) ? T{0} : Weight(Class(row)));
    return sum.Result();
  }

  /// d, the scores of a sample less the largest.
  Numbers<T> Differences(const Numbers<T>& x, int64_t row) const {
    T m = -std::numeric_limits<T>::infinity();
    for (int64_t i = 0; i < layout_.length; ++i) {
      if (x[layout_.At(row, i)] > m) m = x[layout_.At(row, i)];
    }
    Numbers<T> d(layout_.length);
    for (int64_t i = 0; i < layout_.length; ++i) d[i] = x[layout_.At(row, i)] - m;
    return d;
  }

  T SumOfExp(const Numbers<T>& d) const {
    SumOf<T> sum(options_.order);
    for (T value : d) sum.Add(Exp(value));
    return sum.Result();
  }

 private:
  const Layout& layout_;
  const Target<T>& target_;
  const CrossEntropyOptions<T>& options_;
  const T a_, b_;
};

template <class T>
T LossOfClass(const Problem<T>& problem, const Numbers<T>& d, T l, int64_t t, Order order) {
  T v = l - d[t];
  if (problem.weighted()) v = problem.Weight(t) * v;
  if (!problem.smooth()) return v;
  SumOf<T> sum(order);
  for (size_t i = 0; i < d.size(); ++i) {
    sum.Add(problem.weighted() ? problem.Weight(i) * (l - d[i]) : l - d[i]);
  }
  return problem.a() * v + problem.b() * sum.Result();
}

template <class T>
T LossOfProbabilities(const Problem<T>& problem, const Numbers<T>& d, T l, int64_t row, Order order) {
  SumOf<T> sum(order);
  for (size_t i = 0; i < d.size(); ++i) {
    const T term = problem.Probability(row, i) * (l - d[i]);
    sum.Add(problem.weighted() ? problem.Weight(i) * term : term);
  }
  return sum.Result();
}

}  // namespace

template <class T>
Numbers<T> CrossEntropy(const Numbers<T>& x, const Layout& layout, const Target<T>& target,
                        const CrossEntropyOptions<T>& options) {
  const Problem<T> problem(layout, target, options);
  Numbers<T> losses(layout.rows(), T{0});
  for (int64_t row = 0; row < layout.rows(); ++row) {
    if (problem.Ignored(row)) continue;
    const Numbers<T> d = problem.Differences(x, row);
    const T l = Log(problem.SumOfExp(d));
    losses[row] = target.probabilities ? LossOfProbabilities(problem, d, l, row, options.order)
                                       : LossOfClass(problem, d, l, problem.Class(row), options.order);
  }
  if (options.reduction == "none") return losses;

  SumOf<T> sum(options.order);
  for (T loss : losses) sum.Add(loss);
  if (options.reduction == "sum") return {sum.Result()};
  if (!target.probabilities && problem.weighted()) return {sum.Result() / problem.TargetWeights()};
  return {sum.Result() * problem.PerSample()};
}

template <class T>
Numbers<T> CrossEntropyGrad(const Numbers<T>& grad_output, const Numbers<T>& x, const Layout& layout,
                            const Target<T>& target, const CrossEntropyOptions<T>& options) {
  const Problem<T> problem(layout, target, options);
  T f = T{1};
  if (options.reduction == "mean") {
    f = !target.probabilities && problem.weighted() ? T{1} / problem.TargetWeights() : problem.PerSample();
  }
  T all_weights = static_cast<T>(layout.length);
  if (problem.weighted()) {
    SumOf<T> sum(options.order);
    for (T weight : options.weight) sum.Add(weight);
    all_weights = sum.Result();
  }

  Numbers<T> grad(x.size(), T{0});
  for (int64_t row = 0; row < layout.rows(); ++row) {
    if (problem.Ignored(row)) continue;
    const T g = options.reduction == "none" ? grad_output[row] : grad_output[0];
    const Numbers<T> d = problem.Differences(x, row);
    const T total = problem.SumOfExp(d);

    Numbers<T> q(layout.length);  // for probabilities
    SumOf<T> q_sum(options.order);
    if (target.probabilities) {
      for (int64_t i = 0; i < layout.length; ++i) {
        q[i] = problem.Probability(row, i);
        if (problem.weighted()) q[i] = problem.Weight(i) * q[i];
        q_sum.Add(q[i]);
      }
    }
    const T q_total = q_sum.Result();

    for (int64_t i = 0; i < layout.length; ++i) {
      const T p = Exp(d[i]) / total;
      T u;
      if (target.probabilities) {
        u = p * q_total - q[i];
      } else {
        u = p - (i == problem.Class(row) ? T{1} : T{0});
        if (problem.weighted()) u = problem.Weight(problem.Class(row)) * u;
        if (problem.smooth()) u = problem.a() * u + problem.b() * (p * all_weights - problem.Weight(i));
      }
      grad[layout.At(row, i)] = (u * f) * g;
    }
  }
  return grad;
}

template Numbers<float> CrossEntropy(const Numbers<float>&, const Layout&, const Target<float>&,
                                     const CrossEntropyOptions<float>&);
template Numbers<float> CrossEntropyGrad(const Numbers<float>&, const Numbers<float>&, const Layout&,
                                         const Target<float>&, const CrossEntropyOptions<float>&);

namespace {

template <class T>
CrossEntropyOptions<T> ReadOptions(const Arguments& args) {
  CrossEntropyOptions<T> options;
  options.weight = args.NumbersOf<T>("weight");
  options.ignore_index = args.Int("ignore_index");
  options.reduction = args.Text("reduction");
  options.label_smoothing = args.Number("label_smoothing");
  options.order = args.TheOrder();
  return options;
}

template <class T>
Target<T> ReadTarget(const Arguments& args) {
  Target<T> target;
  target.probabilities = args.Type("target") != DType::kInt64;
  if (target.probabilities) {
    target.probability = args.NumbersOf<T>("target");
  } else {
    target.classes = args.IndicesOf("target");
  }
  return target;
}

/// The classes lie along the second dimension, or the only one.
Layout ReadLayout(const Arguments& args) {
  const IntList shape = args.Shape("input");
  return Layout::Along(shape, shape.size() == 1 ? 0 : 1);
}

}  // namespace

template <class T>
static Results RunCrossEntropy(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results, CrossEntropy(args.NumbersOf<T>("input"), ReadLayout(args), ReadTarget<T>(args), ReadOptions<T>(args)),
         args.OutputShape());
  return results;
}

template <class T>
static Results RunCrossEntropyGrad(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results,
         CrossEntropyGrad(args.NumbersOf<T>("grad_output"), args.NumbersOf<T>("input"), ReadLayout(args),
                          ReadTarget<T>(args), ReadOptions<T>(args)),
         args.OutputShape());
  return results;
}

namespace {

/// What nll_loss and its gradient make of a sample.
template <class T>
struct Picked {
  int64_t at;  // where the score of the target class lies; -1 if it does not count
  T weight;
};

template <class T>
std::vector<Picked<T>> PickTargets(const Arguments& args) {
  const Layout layout = ReadLayout(args);
  const Numbers<T> weights = args.NumbersOf<T>("weight");
  const Indices classes = args.IndicesOf("target");
  std::vector<Picked<T>> picked;
  for (int64_t row = 0; row < layout.rows(); ++row) {
    T weight = T{0};
    if (classes[row] != args.Int("ignore_index")) weight = weights.empty() ? T{1} : weights[classes[row]];
    picked.push_back({weight == T{0} ? -1 : layout.At(row, classes[row]), weight});
  }
  return picked;
}

}  // namespace

template <class T>
static Results RunNllLoss(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> x = args.NumbersOf<T>("input");
  SumOf<T> sum(args.TheOrder()), weights(args.TheOrder());
  Numbers<T> losses;
  for (const Picked<T>& sample : PickTargets<T>(args)) {
    losses.push_back(-(sample.at < 0 ? T{0} : x[sample.at]) * sample.weight);
    sum.Add(losses.back());
    weights.Add(sample.weight);
  }
  T total = weights.Result();
  const std::string_view reduction = args.Text("reduction");
  if (reduction == "none") total = T{0};
  if (reduction == "sum") losses = {sum.Result()};
  if (reduction == "mean") losses = {sum.Result() / total};
  Results results;
  Append(results, losses, args.OutputShape(0));
  Append(results, Numbers<T>{total}, args.OutputShape(1));
  return results;
}

template <class T>
static Results RunNllLossGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad_output = args.NumbersOf<T>("grad_output");
  Numbers<T> grad(args.NumbersOf<T>("input").size(), T{0});
  size_t row = 0;
  for (const Picked<T>& sample : PickTargets<T>(args)) {
    T g = args.Text("reduction") == "none" ? grad_output[row] : grad_output[0];
    if (args.Text("reduction") == "mean") g = g / args.NumbersOf<T>("total_weight")[0];
    if (sample.at >= 0) grad[sample.at] = -sample.weight * g;
    ++row;
  }
  Results results;
  Append(results, grad, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"cross_entropy", REPDL_EITHER(RunCrossEntropy)},
                          {"cross_entropy_grad", REPDL_EITHER(RunCrossEntropyGrad)},
                          {"nll_loss", REPDL_EITHER(RunNllLoss)},
                          {"nll_loss_grad", REPDL_EITHER(RunNllLossGrad)}};

}  // namespace repdl::reference
