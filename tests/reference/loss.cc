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
class Problem {
 public:
  Problem(const Layout& layout, const Target& target, const CrossEntropyOptions& options)
      : layout_(layout),
        target_(target),
        options_(options),
        a_(static_cast<float>(1.0 - options.label_smoothing)),
        b_(static_cast<float>(options.label_smoothing / static_cast<double>(layout.length))) {}

  bool weighted() const { return !options_.weight.empty(); }
  bool smooth() const { return options_.label_smoothing != 0.0; }
  float a() const { return a_; }
  float b() const { return b_; }
  bool Ignored(int64_t row) const { return !target_.probabilities && target_.classes[row] == options_.ignore_index; }
  int64_t Class(int64_t row) const {
    const int64_t t = target_.classes[row];
    if (t < 0 || t >= layout_.length) throw std::logic_error("a target of cross_entropy is not a class");
    return t;
  }
  float Weight(int64_t i) const { return weighted() ? options_.weight[i] : 1.0f; }
  float Probability(int64_t row, int64_t i) const {
    const float t = target_.probability[layout_.At(row, i)];
    return smooth() ? a_ * t + b_ : t;
  }

  /// float32(1 / M).
  float PerSample() const {
    int64_t samples = 0;
    for (int64_t row = 0; row < layout_.rows(); ++row) samples += !Ignored(row);
    return static_cast<float>(1.0 / static_cast<double>(samples));
  }

  /// The Sum of the weights of the targets.
  float TargetWeights() const {
    Sum sum(options_.order);
    for (int64_t row = 0; row < layout_.rows(); ++row) sum.Add(Ignored(row) ? 0.0f : Weight(Class(row)));
    return sum.Result();
  }

  /// d, the scores of a sample less the largest.
  Floats Differences(const Floats& x, int64_t row) const {
    float m = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < layout_.length; ++i) {
      if (x[layout_.At(row, i)] > m) m = x[layout_.At(row, i)];
    }
    Floats d(layout_.length);
    for (int64_t i = 0; i < layout_.length; ++i) d[i] = x[layout_.At(row, i)] - m;
    return d;
  }

  float SumOfExp(const Floats& d) const {
    Sum sum(options_.order);
    for (float value : d) sum.Add(Exp(value));
    return sum.Result();
  }

 private:
  const Layout& layout_;
  const Target& target_;
  const CrossEntropyOptions& options_;
  const float a_, b_;
};

float LossOfClass(const Problem& problem, const Floats& d, float l, int64_t t, Order order) {
  float v = l - d[t];
  if (problem.weighted()) v = problem.Weight(t) * v;
  if (!problem.smooth()) return v;
  Sum sum(order);
  for (size_t i = 0; i < d.size(); ++i) {
    sum.Add(problem.weighted() ? problem.Weight(i) * (l - d[i]) : l - d[i]);
  }
  return problem.a() * v + problem.b() * sum.Result();
}

float LossOfProbabilities(const Problem& problem, const Floats& d, float l, int64_t row, Order order) {
  Sum sum(order);
  for (size_t i = 0; i < d.size(); ++i) {
    const float term = problem.Probability(row, i) * (l - d[i]);
    sum.Add(problem.weighted() ? problem.Weight(i) * term : term);
  }
  return sum.Result();
}

}  // namespace

Floats CrossEntropy(const Floats& x, const Layout& layout, const Target& target, const CrossEntropyOptions& options) {
  const Problem problem(layout, target, options);
  Floats losses(layout.rows(), 0.0f);
  for (int64_t row = 0; row < layout.rows(); ++row) {
    if (problem.Ignored(row)) continue;
    const Floats d = problem.Differences(x, row);
    const float l = Log(problem.SumOfExp(d));
    losses[row] = target.probabilities ? LossOfProbabilities(problem, d, l, row, options.order)
                                       : LossOfClass(problem, d, l, problem.Class(row), options.order);
  }
  if (options.reduction == "none") return losses;

  Sum sum(options.order);
  for (float loss : losses) sum.Add(loss);
  if (options.reduction == "sum") return {sum.Result()};
  if (!target.probabilities && problem.weighted()) return {sum.Result() / problem.TargetWeights()};
  return {sum.Result() * problem.PerSample()};
}

Floats CrossEntropyGrad(const Floats& grad_output, const Floats& x, const Layout& layout, const Target& target,
                        const CrossEntropyOptions& options) {
  const Problem problem(layout, target, options);
  float f = 1.0f;
  if (options.reduction == "mean") {
    f = !target.probabilities && problem.weighted() ? 1.0f / problem.TargetWeights() : problem.PerSample();
  }
  float all_weights = static_cast<float>(layout.length);
  if (problem.weighted()) {
    Sum sum(options.order);
    for (float weight : options.weight) sum.Add(weight);
    all_weights = sum.Result();
  }

  Floats grad(x.size(), 0.0f);
  for (int64_t row = 0; row < layout.rows(); ++row) {
    if (problem.Ignored(row)) continue;
    const float g = options.reduction == "none" ? grad_output[row] : grad_output[0];
    const Floats d = problem.Differences(x, row);
    const float total = problem.SumOfExp(d);

    Floats q(layout.length);  // for probabilities
    Sum q_sum(options.order);
    if (target.probabilities) {
      for (int64_t i = 0; i < layout.length; ++i) {
        q[i] = problem.Probability(row, i);
        if (problem.weighted()) q[i] = problem.Weight(i) * q[i];
        q_sum.Add(q[i]);
      }
    }
    const float q_total = q_sum.Result();

    for (int64_t i = 0; i < layout.length; ++i) {
      const float p = Exp(d[i]) / total;
      float u;
      if (target.probabilities) {
        u = p * q_total - q[i];
      } else {
        u = p - (i == problem.Class(row) ? 1.0f : 0.0f);
        if (problem.weighted()) u = problem.Weight(problem.Class(row)) * u;
        if (problem.smooth()) u = problem.a() * u + problem.b() * (p * all_weights - problem.Weight(i));
      }
      grad[layout.At(row, i)] = (u * f) * g;
    }
  }
  return grad;
}

namespace {

CrossEntropyOptions ReadOptions(const Arguments& args) {
  CrossEntropyOptions options;
  options.weight = args.FloatsOf("weight");
  options.ignore_index = args.Int("ignore_index");
  options.reduction = args.Text("reduction");
  options.label_smoothing = args.Number("label_smoothing");
  options.order = args.TheOrder();
  return options;
}

Target ReadTarget(const Arguments& args) {
  Target target;
  target.probabilities = args.Type("target") == DType::kFloat32;
  if (target.probabilities) {
    target.probability = args.FloatsOf("target");
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

static Results RunCrossEntropy(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results, CrossEntropy(args.FloatsOf("input"), ReadLayout(args), ReadTarget(args), ReadOptions(args)),
         args.OutputShape());
  return results;
}

static Results RunCrossEntropyGrad(const Case& test_case) {
  const Arguments args(test_case);
  Results results;
  Append(results,
         CrossEntropyGrad(args.FloatsOf("grad_output"), args.FloatsOf("input"), ReadLayout(args), ReadTarget(args),
                          ReadOptions(args)),
         args.OutputShape());
  return results;
}

namespace {

/// What nll_loss and its gradient make of a sample.
struct Picked {
  int64_t at;  // where the score of the target class lies; -1 if it does not count
  float weight;
};

std::vector<Picked> PickTargets(const Arguments& args) {
  const Layout layout = ReadLayout(args);
  const Floats weights = args.FloatsOf("weight");
  const Indices classes = args.IndicesOf("target");
  std::vector<Picked> picked;
  for (int64_t row = 0; row < layout.rows(); ++row) {
    float weight = 0.0f;
    if (classes[row] != args.Int("ignore_index")) weight = weights.empty() ? 1.0f : weights[classes[row]];
    picked.push_back({weight == 0.0f ? -1 : layout.At(row, classes[row]), weight});
  }
  return picked;
}

}  // namespace

static Results RunNllLoss(const Case& test_case) {
  const Arguments args(test_case);
  const Floats x = args.FloatsOf("input");
  Sum sum(args.TheOrder()), weights(args.TheOrder());
  Floats losses;
  for (const Picked& sample : PickTargets(args)) {
    losses.push_back(-(sample.at < 0 ? 0.0f : x[sample.at]) * sample.weight);
    sum.Add(losses.back());
    weights.Add(sample.weight);
  }
  float total = weights.Result();
  const std::string_view reduction = args.Text("reduction");
  if (reduction == "none") total = 0.0f;
  if (reduction == "sum") losses = {sum.Result()};
  if (reduction == "mean") losses = {sum.Result() / total};
  Results results;
  Append(results, losses, args.OutputShape(0));
  Append(results, Floats{total}, args.OutputShape(1));
  return results;
}

static Results RunNllLossGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Floats grad_output = args.FloatsOf("grad_output");
  Floats grad(args.FloatsOf("input").size(), 0.0f);
  size_t row = 0;
  for (const Picked& sample : PickTargets(args)) {
    float g = args.Text("reduction") == "none" ? grad_output[row] : grad_output[0];
    if (args.Text("reduction") == "mean") g = g / args.FloatsOf("total_weight")[0];
    if (sample.at >= 0) grad[sample.at] = -sample.weight * g;
    ++row;
  }
  Results results;
  Append(results, grad, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"cross_entropy", RunCrossEntropy},
                          {"cross_entropy_grad", RunCrossEntropyGrad},
                          {"nll_loss", RunNllLoss},
                          {"nll_loss_grad", RunNllLossGrad}};

}  // namespace repdl::reference
