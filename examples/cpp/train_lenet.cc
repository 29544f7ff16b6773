// SPDX-License-Identifier: MIT
//
// Trains LeNet for a few dozen steps in both orders and prints digests of its first weights, its losses, its last
// weights and what it then says of images that it has not seen: the same on every CPU. The images are ten patterns
// under noise, made with integers, so that no machine needs a file. It is built as multiply_matrices.cc is.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <string_view>
#include <vector>

#include "repdl/conformance.h"
#include "repdl/digest.h"
#include "repdl/ops.h"
#include "repdl/target.h"
#include "repdl/threads.h"

namespace {

using repdl::IntList;
using repdl::Order;
using repdl::TensorView;

constexpr int64_t kClasses = 10, kImage = 28, kPixels = kImage * kImage;
constexpr int64_t kBatch = 4, kSteps = 40, kTestImages = 20;

/// 64 random bits (SplitMix64), the same as behind the generators of repdl/conformance.h.
uint64_t Bits(uint64_t seed, int64_t i) {
  uint64_t x = ((seed << 32) + static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// Element i of `normal[…]#seed`: bell-shaped, in units of 2^-15.
float Normal(uint64_t seed, int64_t i) {
  const uint64_t x = Bits(seed, i);
  const uint64_t sum = (x & 0xffff) + (x >> 16 & 0xffff) + (x >> 32 & 0xffff) + (x >> 48);
  return static_cast<float>(static_cast<int64_t>(sum) - 131070) * 0x1p-15f;
}

/// Row-major numbers.
template <class T>
struct Array {
  explicit Array(const IntList& sizes) : shape(sizes), data(static_cast<size_t>(View().numel())) {}
  TensorView View() const { return repdl::MakeView(data.data(), shape); }
  operator TensorView() const { return View(); }  // NOLINT: an array is used as its view

  IntList shape;
  std::vector<T> data;
};
using Floats = Array<float>;
using Indices = Array<int64_t>;

/// The samples first, first + 1, …: the pattern of a class under noise, exact in float32.
struct Batch {
  Batch(int64_t first, int64_t size) : images({size, 1, kImage, kImage}), labels({size}) {
    for (int64_t s = 0; s < size; ++s) {
      const auto label = static_cast<int64_t>(Bits(1, first + s) % kClasses);
      labels.data[s] = label;
      for (int64_t p = 0; p < kPixels; ++p) {
        images.data[s * kPixels + p] = Normal(2, label * kPixels + p) + 0.125f * Normal(3, (first + s) * kPixels + p);
      }
    }
  }
  Floats images;
  Indices labels;
};

/// A parameter with its gradient and the state of Adam.
struct Parameter {
  Parameter(const IntList& shape, uint64_t seed, float scale) : value(shape), grad(shape), mean(shape), square(shape) {
    for (size_t i = 0; i < value.data.size(); ++i) value.data[i] = Normal(seed, static_cast<int64_t>(i)) * scale;
  }
  void Step(int64_t step) {
    repdl::AdamStep(value.View(), grad, mean.View(), square.View(), std::nullopt, step, /*lr=*/0.005, /*beta1=*/0.9,
                    /*beta2=*/0.999, /*eps=*/1e-8, /*weight_decay=*/0.0, /*maximize=*/false);
  }
  Floats value, grad, mean, square;
};

struct ConvLayer {
  Floats Forward(const Floats& input, Order order) const {
    const IntList& x = input.shape;
    const IntList& w = weight.value.shape;
    Floats output({x[0], w[0], x[2] + 2 * padding - w[2] + 1, x[3] + 2 * padding - w[3] + 1});
    repdl::Conv2d(input, weight.value, {1, 1}, {padding, padding}, 1, {1, 1}, bias.value.View(), order, output.View());
    return output;
  }
  void BackwardToParameters(const Floats& input, const Floats& grad, Order order) {
    repdl::Conv2dGradKernel(input, weight.value.shape, grad, {1, 1}, {padding, padding}, 1, {1, 1}, order,
                            weight.grad.View());
    repdl::Sum(grad, IntList{0, 2, 3}, /*keepdim=*/false, /*average=*/false, order, bias.grad.View());
  }
  Floats BackwardToInput(const Floats& input, const Floats& grad, Order order) const {
    Floats grad_input(input.shape);
    repdl::Conv2dGradInput(input.shape, weight.value, grad, {1, 1}, {padding, padding}, 1, {1, 1}, order,
                           grad_input.View());
    return grad_input;
  }
  Parameter weight, bias;
  int64_t padding;
};

struct LinearLayer {
  Floats Forward(const Floats& input, Order order) const {
    Floats output({input.shape[0], weight.value.shape[0]});
    repdl::Linear(input, weight.value, bias.value.View(), order, output.View());
    return output;
  }
  Floats Backward(const Floats& input, const Floats& grad, Order order) {
    repdl::Mm(grad, input, /*transA=*/true, /*transB=*/false, order, weight.grad.View());
    repdl::Sum(grad, IntList{0}, /*keepdim=*/false, /*average=*/false, order, bias.grad.View());
    Floats grad_input(input.shape);
    repdl::Mm(grad, weight.value, /*transA=*/false, /*transB=*/false, order, grad_input.View());
    return grad_input;
  }
  Parameter weight, bias;
};

Floats Relu(const Floats& input) {
  Floats output(input.shape);
  repdl::Relu(input, output.View());
  return output;
}

Floats ReluGrad(const Floats& grad, const Floats& output) {
  Floats grad_input(output.shape);
  repdl::ReluGrad(grad, output, grad_input.View());
  return grad_input;
}

/// The largest of every 2 x 2 pixels, and where it was.
struct Pooled {
  explicit Pooled(const Floats& input)
      : output({input.shape[0], input.shape[1], input.shape[2] / 2, input.shape[3] / 2}), indices(output.shape) {
    repdl::MaxPool2d(input, {2, 2}, {2, 2}, {0, 0}, {1, 1}, /*ceil_mode=*/false, output.View(), indices.View());
  }
  Floats Backward(const Floats& grad, const IntList& input_shape) const {
    Floats grad_input(input_shape);
    repdl::MaxPool2dGrad(grad, indices, input_shape, grad_input.View());
    return grad_input;
  }
  Floats output;
  Indices indices;
};

Floats Reshape(Floats array, const IntList& shape) {
  array.shape = shape;
  return array;
}

class LeNet {
 public:
  explicit LeNet(Order order) : order_(order) {}

  Floats Forward(const Floats& images) const { return Activations(*this, images).logits; }

  /// One step of Adam on a batch. Returns the loss.
  float Train(const Batch& batch, int64_t step) {
    const Activations a(*this, batch.images);
    Floats loss(IntList{}), grad(a.logits.shape), one(IntList{});
    one.data[0] = 1.0f;
    repdl::CrossEntropy(a.logits, batch.labels, std::nullopt, -100, "mean", 0.0, order_, loss.View());
    repdl::CrossEntropyGrad(one, a.logits, batch.labels, std::nullopt, -100, "mean", 0.0, order_, grad.View());

    grad = ReluGrad(fc3_.Backward(a.relu4, grad, order_), a.relu4);
    grad = ReluGrad(fc2_.Backward(a.relu3, grad, order_), a.relu3);
    grad = Reshape(fc1_.Backward(a.flat, grad, order_), a.pool2.output.shape);
    grad = ReluGrad(a.pool2.Backward(grad, a.relu2.shape), a.relu2);
    conv2_.BackwardToParameters(a.pool1.output, grad, order_);
    grad = conv2_.BackwardToInput(a.pool1.output, grad, order_);
    grad = ReluGrad(a.pool1.Backward(grad, a.relu1.shape), a.relu1);
    conv1_.BackwardToParameters(batch.images, grad, order_);
    for (Parameter* parameter : Parameters()) parameter->Step(step);
    return loss.data[0];
  }

  std::string Digest() {
    std::vector<TensorView> weights;
    for (const Parameter* parameter : Parameters()) weights.push_back(parameter->value);
    return repdl::Digest(weights);
  }

 private:
  struct Activations {
    Activations(const LeNet& net, const Floats& images)
        : relu1(Relu(net.conv1_.Forward(images, net.order_))),
          pool1(relu1),
          relu2(Relu(net.conv2_.Forward(pool1.output, net.order_))),
          pool2(relu2),
          flat(Reshape(pool2.output, {images.shape[0], 16 * 5 * 5})),
          relu3(Relu(net.fc1_.Forward(flat, net.order_))),
          relu4(Relu(net.fc2_.Forward(relu3, net.order_))),
          logits(net.fc3_.Forward(relu4, net.order_)) {}
    Floats relu1;
    Pooled pool1;
    Floats relu2;
    Pooled pool2;
    Floats flat, relu3, relu4, logits;
  };

  std::vector<Parameter*> Parameters() {
    return {&conv1_.weight, &conv1_.bias, &conv2_.weight, &conv2_.bias, &fc1_.weight,
            &fc1_.bias,     &fc2_.weight, &fc2_.bias,     &fc3_.weight, &fc3_.bias};
  }

  Order order_;
  ConvLayer conv1_{{{6, 1, 5, 5}, 4, 0x1p-3f}, {{6}, 5, 0x1p-3f}, 2};
  ConvLayer conv2_{{{16, 6, 5, 5}, 6, 0x1p-5f}, {{16}, 7, 0x1p-5f}, 0};
  LinearLayer fc1_{{{120, 16 * 5 * 5}, 8, 0x1p-5f}, {{120}, 9, 0x1p-5f}};
  LinearLayer fc2_{{{84, 120}, 10, 0x1p-4f}, {{84}, 11, 0x1p-4f}};
  LinearLayer fc3_{{{kClasses, 84}, 12, 0x1p-4f}, {{kClasses}, 13, 0x1p-4f}};
};

void TrainLeNet(Order order) {
  const auto report = [order](std::string_view what, const auto& value) {
    std::cout << Name(order) << ' ' << what << ' ' << value << std::endl;
  };
  LeNet net(order);
  report("initial model", net.Digest());
  Floats losses({kSteps});
  for (int64_t step = 0; step < kSteps; ++step) {
    losses.data[step] = net.Train(Batch(step * kBatch, kBatch), step + 1);
  }
  report("losses", repdl::Digest(losses));
  report("trained model", net.Digest());

  const Batch test(kSteps * kBatch, kTestImages);
  const Floats logits = net.Forward(test.images);
  report("logits", repdl::Digest(logits));
  int64_t correct = 0;
  for (int64_t s = 0; s < kTestImages; ++s) {
    const float* const row = &logits.data[s * kClasses];
    correct += std::max_element(row, row + kClasses) - row == test.labels.data[s] ? 1 : 0;
  }
  report("accuracy", static_cast<double>(correct) / kTestImages);
}

}  // namespace

int main() {
  try {
    std::cout << "LeNet on " << repdl::ActiveTarget() << ", " << repdl::GetNumThreads() << " thread(s)\n";
    for (const Order order : {Order::kBlocked, Order::kSequential}) TrainLeNet(order);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
