// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "repdl/order.h"

// The sums of docs/arithmetic.md, "Orders": give the terms one by one, then ask for the result.

namespace repdl::reference {

/// What two numbers that meet become.
struct Plus {
  static constexpr int kIdentity = 0;
  template <class T>
  static T Of(T a, T b) {
    return a + b;
  }
};
struct Times {
  static constexpr int kIdentity = 1;
  template <class T>
  static T Of(T a, T b) {
    return a * b;
  }
};

/// Joins the values of chunks in an aligned binary tree, as a binary counter.
template <class T, class Meet = Plus>
class Tree {
 public:
  void Push(T value) {
    for (int64_t i = count_; i % 2 == 1; i /= 2) {
      value = Meet::Of(waiting_[--size_], value);
    }
    waiting_[size_++] = value;
    ++count_;
  }

  T Result() const {
    if (size_ == 0) return Meet::kIdentity;
    T result = waiting_[size_ - 1];
    for (int i = size_ - 2; i >= 0; --i) result = Meet::Of(waiting_[i], result);
    return result;
  }

 private:
  T waiting_[64];
  int size_ = 0;
  int64_t count_ = 0;
};

/// The sequential order is the blocked one with a single chunk that never ends.
inline constexpr int64_t kEndless = std::numeric_limits<int64_t>::max();

/// Product(a_k, b_k).
template <class T>
class ProductOf {
 public:
  explicit ProductOf(Order order) : length_(order == Order::kBlocked ? 256 : kEndless) {}

  void Add(T a, T b) {
    acc_ = std::fma(a, b, acc_);
    Skip();
  }

  /// An absent term: it has a place, but no value.
  void Skip() {
    if (++terms_ == length_) CloseChunk();
  }

  T Result() {
    if (terms_ > 0) CloseChunk();
    return tree_.Result();
  }

 private:
  void CloseChunk() {
    tree_.Push(acc_);
    acc_ = 0;
    terms_ = 0;
  }

  int64_t length_;
  int64_t terms_ = 0;  // of the open chunk
  T acc_ = 0;
  Tree<T> tree_;
};

using Product = ProductOf<float>;

/// Sum(x_i), or with Times a product in its order.
template <class T, class Meet = Plus>
class SumOf {
 public:
  explicit SumOf(Order order)
      : length_(order == Order::kBlocked ? 4096 : kEndless), lanes_(order == Order::kBlocked ? 64 : 1) {
    Begin();
  }

  void Add(T x) {
    T& lane = lane_[terms_ % lanes_];
    lane = Meet::Of(lane, x);
    if (++terms_ == length_) CloseChunk();
  }

  T Result() {
    if (terms_ > 0) CloseChunk();
    return tree_.Result();
  }

 private:
  void CloseChunk() {
    for (int h = lanes_ / 2; h >= 1; h /= 2) {
      for (int j = 0; j < h; ++j) lane_[j] = Meet::Of(lane_[j], lane_[j + h]);
    }
    tree_.Push(lane_[0]);
    Begin();
  }
  void Begin() {
    for (T& lane : lane_) lane = Meet::kIdentity;
    terms_ = 0;
  }

  int64_t length_;
  int lanes_;
  int64_t terms_;  // of the open chunk
  T lane_[64];
  Tree<T, Meet> tree_;
};

using Sum = SumOf<float>;

}  // namespace repdl::reference
