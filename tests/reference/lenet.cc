// SPDX-License-Identifier: MIT
// Trains LeNet with the reference, to know the digests of a whole training run without the library.

#include <cstdio>
#include <exception>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "conv.h"
#include "elementwise.h"
#include "loss.h"
#include "mm.h"
#include "optim.h"
#include "parallel.h"
#include "pool.h"
#include "repdl/conformance.h"
#include "sums.h"

namespace repdl::reference {
namespace {

constexpr int64_t kClasses = 10;

/// Places of the parameters in every list of parameters and gradients; the bias follows its weight.
enum Layer { kConv1 = 0, kConv2 = 2, kFc1 = 4, kFc2 = 6, kFc3 = 8, kParameters = 10 };

/// The sizes that follow from the images being size x size.
struct Sizes {
  explicit Sizes(int64_t image_size)
      : image(image_size), pooled1(image / 2), conv2(pooled1 - 4), pooled2(conv2 / 2), flat(16 * pooled2 * pooled2) {
    if (pooled2 < 1) throw std::invalid_argument("the images are too small");
  }

  ConvShape Conv1(int64_t batch) const {
    ConvShape s = {batch, 1, 6, {1, image, image}, {1, 5, 5}, {1, image, image}};
    s.padding = {0, 2, 2};
    return s;
  }
  ConvShape Conv2(int64_t batch) const { return {batch, 6, 16, {1, pooled1, pooled1}, {1, 5, 5}, {1, conv2, conv2}}; }
  PoolShape Pool1(int64_t batch) const { return {batch * 6, image, image, pooled1, pooled1, 2, 2, 2, 2}; }
  PoolShape Pool2(int64_t batch) const { return {batch * 16, conv2, conv2, pooled2, pooled2, 2, 2, 2, 2}; }

  /// Numbers of elements of the parameters.
  std::vector<int64_t> Parameters() const {
    return {6 * 1 * 25, 6, 16 * 6 * 25, 16, 120 * flat, 120, 84 * 120, 84, kClasses * 84, kClasses};
  }

  int64_t image, pooled1, conv2, pooled2, flat;
};

/// What the backward pass needs of the forward pass.
struct Activations {
  Floats relu1, relu2, relu3, relu4;
  Pooled pool1, pool2;
  Floats logits;
};

Activations Forward(const std::vector<AdamState<float>>& net, const Sizes& sizes, const Floats& images, int64_t batch,
                    Order order) {
  const auto weight = [&](int layer) -> const Floats& { return net[layer].param; };
  const auto bias = [&](int layer) -> const Floats& { return net[layer + 1].param; };
  Activations a;
  a.relu1 = Relu(Conv(images, weight(kConv1), bias(kConv1), sizes.Conv1(batch), order));
  a.pool1 = MaxPool2d(a.relu1, sizes.Pool1(batch));
  a.relu2 = Relu(Conv(a.pool1.output, weight(kConv2), bias(kConv2), sizes.Conv2(batch), order));
  a.pool2 = MaxPool2d(a.relu2, sizes.Pool2(batch));
  a.relu3 = Relu(Linear(a.pool2.output, weight(kFc1), bias(kFc1), batch, 120, sizes.flat, order));
  a.relu4 = Relu(Linear(a.relu3, weight(kFc2), bias(kFc2), batch, 84, 120, order));
  a.logits = Linear(a.relu4, weight(kFc3), bias(kFc3), batch, kClasses, 84, order);
  return a;
}

/// Sum over samples and places for each channel of grad [samples, channels, places].
Floats BiasGradient(const Floats& grad, int64_t channels, int64_t places, Order order) {
  const int64_t samples = grad.size() / (channels * places);
  Floats sums(channels);
  for (int64_t c = 0; c < channels; ++c) {
    Sum sum(order);
    for (int64_t n = 0; n < samples; ++n) {
      for (int64_t i = 0; i < places; ++i) sum.Add(grad[(n * channels + c) * places + i]);
    }
    sums[c] = sum.Result();
  }
  return sums;
}

/// The gradients of a linear layer with input [batch, in] and weight [out, in].
struct LinearGradients {
  LinearGradients(const Floats& grad, const Floats& input, const Floats& layer_weight, int64_t batch, int64_t out,
                  int64_t in, Order order)
      : input(Mm({grad.data(), out, 1}, {layer_weight.data(), in, 1}, batch, in, out, order)),
        weight(Mm({grad.data(), 1, out}, {input.data(), in, 1}, out, in, batch, order)),
        bias(BiasGradient(grad, out, 1, order)) {}
  Floats input, weight, bias;
};

/// The mean loss of a batch.
float Loss(const Floats& logits, const Indices& labels, Order order) {
  Target<float> target;
  target.classes = labels;
  CrossEntropyOptions<float> options;
  options.order = order;
  return CrossEntropy(logits, {static_cast<int64_t>(labels.size()), kClasses, 1}, target, options)[0];
}

/// The gradients of the parameters.
std::vector<Floats> Backward(const std::vector<AdamState<float>>& net, const Sizes& sizes, const Activations& a,
                             const Floats& images, const Indices& labels, Order order) {
  const int64_t batch = labels.size();
  std::vector<Floats> grads(kParameters);
  Target<float> target;
  target.classes = labels;
  CrossEntropyOptions<float> options;
  options.order = order;
  const Layout layout = {batch, kClasses, 1};
  Floats grad = CrossEntropyGrad({1.0f}, a.logits, layout, target, options);

  const auto linear = [&](int layer, const Floats& input, int64_t out, int64_t in) {
    LinearGradients g(grad, input, net[layer].param, batch, out, in, order);
    grads[layer] = g.weight;
    grads[layer + 1] = g.bias;
    grad = g.input;
  };
  linear(kFc3, a.relu4, kClasses, 84);
  grad = ReluGrad(grad, a.relu4);
  linear(kFc2, a.relu3, 84, 120);
  grad = ReluGrad(grad, a.relu3);
  linear(kFc1, a.pool2.output, 120, sizes.flat);

  grad = MaxPool2dGrad(grad, a.pool2.indices, batch * 16, sizes.conv2 * sizes.conv2, sizes.pooled2 * sizes.pooled2);
  grad = ReluGrad(grad, a.relu2);
  grads[kConv2] = ConvGradKernel(a.pool1.output, grad, sizes.Conv2(batch), order);
  grads[kConv2 + 1] = BiasGradient(grad, 16, sizes.conv2 * sizes.conv2, order);
  grad = ConvGradInput(net[kConv2].param, grad, {}, sizes.Conv2(batch), order);

  grad = MaxPool2dGrad(grad, a.pool1.indices, batch * 6, sizes.image * sizes.image, sizes.pooled1 * sizes.pooled1);
  grad = ReluGrad(grad, a.relu1);
  grads[kConv1] = ConvGradKernel(images, grad, sizes.Conv1(batch), order);
  grads[kConv1 + 1] = BiasGradient(grad, 6, sizes.image * sizes.image, order);
  return grads;
}

/// The elements of a raw little-endian file.
template <class T>
std::vector<T> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::invalid_argument("cannot read " + path);
  std::vector<T> data(static_cast<size_t>(file.tellg()) / sizeof(T));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(data.data()), static_cast<std::streamsize>(data.size() * sizeof(T)));
  return data;
}

/// Images and their labels.
struct Samples {
  Samples(const std::string& image_file, const std::string& label_file, int64_t image_pixels)
      : images(ReadFile<float>(image_file)), labels(ReadFile<int64_t>(label_file)), pixels(image_pixels) {
    if (images.size() != labels.size() * pixels) throw std::invalid_argument(image_file + " does not fit its labels");
  }

  int64_t size() const { return labels.size(); }
  Floats Images(const Indices& chosen) const {
    Floats batch;
    for (int64_t i : chosen) {
      if (i < 0 || i >= size()) throw std::invalid_argument("the schedule names a sample that does not exist");
      batch.insert(batch.end(), &images[i * pixels], &images[i * pixels] + pixels);
    }
    return batch;
  }
  Indices Labels(const Indices& chosen) const {
    Indices batch;
    for (int64_t i : chosen) batch.push_back(labels[i]);
    return batch;
  }

  Floats images;
  Indices labels;
  int64_t pixels;
};

std::vector<AdamState<float>> Load(const std::string& path, const Sizes& sizes) {
  const Floats all = ReadFile<float>(path);
  std::vector<AdamState<float>> net;
  size_t begin = 0;
  for (int64_t size : sizes.Parameters()) {
    if (begin + size > all.size()) throw std::invalid_argument(path + " has too few parameters");
    net.push_back({Floats(&all[begin], &all[begin] + size), Floats(size), Floats(size), {}});
    begin += size;
  }
  if (begin != all.size()) throw std::invalid_argument(path + " has too many parameters");
  return net;
}

std::string DigestOf(const std::vector<AdamState<float>>& net) {
  std::vector<TensorView> views;
  for (const AdamState<float>& state : net) {
    views.push_back(MakeView(state.param.data(), {static_cast<int64_t>(state.param.size())}));
  }
  return Digest(views);
}

int64_t BestClass(const float* logits) {
  int64_t best = 0;
  for (int64_t i = 1; i < kClasses; ++i) {
    if (logits[i] > logits[best]) best = i;
  }
  return best;
}

void Test(const std::vector<AdamState<float>>& net, const Sizes& sizes, const Samples& samples, Order order) {
  Floats logits;
  for (int64_t begin = 0; begin < samples.size(); begin += 100) {
    Indices chosen;
    for (int64_t i = begin; i < samples.size() && i < begin + 100; ++i) chosen.push_back(i);
    const Activations a = Forward(net, sizes, samples.Images(chosen), chosen.size(), order);
    logits.insert(logits.end(), a.logits.begin(), a.logits.end());
  }
  int64_t correct = 0;
  for (int64_t i = 0; i < samples.size(); ++i) correct += BestClass(&logits[i * kClasses]) == samples.labels[i];
  std::printf("accuracy %lld / %lld\n", static_cast<long long>(correct), static_cast<long long>(samples.size()));
  std::printf("logits %s\n", Digest({MakeView(logits.data(), {samples.size(), kClasses})}).c_str());
}

/// The arguments, given as pairs "--name value".
class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string_view name = argv[i];
      if (!name.starts_with("--") || i + 1 == argc) throw std::invalid_argument("expected --name value");
      values_[std::string(name.substr(2))] = argv[i + 1];
    }
    for (const auto& [name, value] : values_) {
      if (std::string_view(kNames).find(" " + name + " ") == std::string_view::npos) {
        throw std::invalid_argument("unknown --" + name + "; known are" + kNames);
      }
    }
  }

  std::string Get(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw std::invalid_argument("--" + name + " is missing");
    return found->second;
  }
  std::string Get(const std::string& name, const std::string& otherwise) const {
    return values_.count(name) ? Get(name) : otherwise;
  }

 private:
  static constexpr const char* kNames =
      " start images labels schedule batch lr test-images test-labels order threads size ";
  std::map<std::string, std::string> values_;
};

void Train(const Options& options) {
  SetThreads(std::stoi(options.Get("threads", "1")));
  const Order order = ParseOrder(options.Get("order", "blocked"));
  const Sizes sizes(std::stoll(options.Get("size", "28")));
  const int64_t pixels = sizes.image * sizes.image;
  const Samples train(options.Get("images"), options.Get("labels"), pixels);
  const Samples test(options.Get("test-images"), options.Get("test-labels"), pixels);
  const Indices schedule = ReadFile<int64_t>(options.Get("schedule"));
  const int64_t batch = std::stoll(options.Get("batch", "100"));
  if (batch < 1 || schedule.size() % batch != 0) {
    throw std::invalid_argument("the schedule does not end with a whole batch");
  }

  std::vector<AdamState<float>> net = Load(options.Get("start"), sizes);
  std::printf("initial %s\n", DigestOf(net).c_str());
  std::fflush(stdout);

  AdamOptions adam;
  adam.lr = std::stod(options.Get("lr", "0.01"));
  Floats losses;
  for (size_t begin = 0; begin < schedule.size(); begin += batch) {
    const Indices chosen(&schedule[begin], &schedule[begin] + batch);
    const Floats images = train.Images(chosen);
    const Activations a = Forward(net, sizes, images, batch, order);
    losses.push_back(Loss(a.logits, train.Labels(chosen), order));
    const std::vector<Floats> grads = Backward(net, sizes, a, images, train.Labels(chosen), order);
    adam.step = static_cast<int64_t>(begin) / batch + 1;
    for (int i = 0; i < kParameters; ++i) AdamStep(net[i], grads[i], adam);
  }
  const auto num_losses = static_cast<int64_t>(losses.size());
  std::printf("losses %s\n", Digest({MakeView(losses.data(), {num_losses})}).c_str());
  std::printf("trained %s\n", DigestOf(net).c_str());
  std::fflush(stdout);
  Test(net, sizes, test, order);
}

}  // namespace
}  // namespace repdl::reference

int main(int argc, char** argv) {
  try {
    repdl::reference::Train(repdl::reference::Options(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "repdl_reference_lenet: %s\n", error.what());
    return 1;
  }
  return 0;
}
