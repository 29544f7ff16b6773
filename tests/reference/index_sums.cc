// SPDX-License-Identifier: MIT
// Sums and other reductions in the order of an index.
#include <cmath>
#include <limits>

#include "op.h"
#include "sums.h"

namespace repdl::reference {
namespace {

/// A table of numbers whose rows terms are added to.
template <class T>
struct Table {
  int64_t width;
  Numbers<T> data;

  Table(int64_t rows, int64_t columns) : width(columns), data(static_cast<size_t>(rows * columns), T{0}) {}
  T& At(int64_t row, int64_t column) { return data[static_cast<size_t>(row * width + column)]; }
};

std::vector<int64_t> HowOften(const Indices& indices, int64_t size) {
  std::vector<int64_t> counts(static_cast<size_t>(size), 0);
  for (int64_t i : indices) counts[i] = counts[i] + 1;
  return counts;
}

}  // namespace

template <class T>
static Results RunIndexAdd(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> sums = args.NumbersOf<T>("input");
  const Numbers<T> source = args.NumbersOf<T>("source");
  const Indices index = args.IndicesOf("index");
  const T alpha = static_cast<T>(args.Number("alpha"));
  const Layout to = Layout::Along(args.Shape("input"), args.Int("dim"));
  const Layout from = Layout::Along(args.Shape("source"), args.Int("dim"));
  for (int64_t row = 0; row < from.rows(); ++row) {
    for (int64_t i = 0; i < from.length; ++i) {
      const T term = alpha == T{1} ? source[from.At(row, i)] : source[from.At(row, i)] * alpha;
      T& sum = sums[to.At(row, index[i])];
      sum = sum + term;
    }
  }
  Results results;
  Append(results, sums, args.OutputShape());
  return results;
}

template <class T>
static Results RunScatterAdd(const Case& test_case) {
  const Arguments args(test_case);
  Numbers<T> sums = args.NumbersOf<T>("input");
  const Numbers<T> src = args.NumbersOf<T>("src");
  const Indices index = args.IndicesOf("index");
  const Layout to = Layout::Along(args.Shape("input"), args.Int("dim"));
  const Layout from = Layout::Along(args.Shape("src"), args.Int("dim"));
  for (int64_t row = 0; row < from.rows(); ++row) {
    for (int64_t i = 0; i < from.length; ++i) {
      T& sum = sums[to.At(row, index[from.At(row, i)])];
      sum = sum + src[from.At(row, i)];
    }
  }
  Results results;
  Append(results, sums, args.OutputShape());
  return results;
}

/// IEEE 754-2019's maximum, or minimum: a NaN if there is one, and of zeros +0 is the larger.
template <class T>
static T Extreme(T x, T y, bool largest) {
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<T>::quiet_NaN();
  if (x == y) return std::signbit(x) == largest ? y : x;
  return (x > y) == largest ? x : y;
}

/// The results, where each of the terms goes to an element of the input, in order.
template <class T>
static Results Reduced(const Arguments& args, const Numbers<T>& terms, const std::vector<int64_t>& places) {
  Numbers<T> results_of_places = args.NumbersOf<T>("input");
  const auto reduce = args.Text("reduce");
  const bool include_self = args.Flag("include_self");
  const T infinity = std::numeric_limits<T>::infinity();
  std::vector<int64_t> counts(results_of_places.size(), include_self ? 1 : 0);
  for (size_t i = 0; i < terms.size(); ++i) {
    T& result = results_of_places[places[i]];
    if (counts[places[i]] == 0) {
      result = reduce == "prod" ? T{1} : reduce == "amax" ? -infinity : reduce == "amin" ? infinity : T{0};
    }
    ++counts[places[i]];
    if (reduce == "prod") {
      result = result * terms[i];
    } else if (reduce == "amax" || reduce == "amin") {
      result = Extreme(result, terms[i], reduce == "amax");
    } else {
      result = result + terms[i];
    }
  }
  for (size_t i = 0; i < counts.size() && reduce == "mean"; ++i) {
    if (counts[i] > 0) results_of_places[i] = results_of_places[i] / static_cast<T>(counts[i]);
  }
  Results results;
  Append(results, results_of_places, args.OutputShape());
  return results;
}

/// The place in the input of each element of `terms`, whose index is that of its slice or its own.
static std::vector<int64_t> PlacesOfTerms(const Arguments& args, const char* terms, bool of_slices) {
  const Indices index = args.IndicesOf("index");
  const Layout to = Layout::Along(args.Shape("input"), args.Int("dim"));
  const Layout from = Layout::Along(args.Shape(terms), args.Int("dim"));
  std::vector<int64_t> places(static_cast<size_t>(from.rows() * from.length));
  for (int64_t row = 0; row < from.rows(); ++row) {
    for (int64_t i = 0; i < from.length; ++i) {
      places[from.At(row, i)] = to.At(row, index[of_slices ? i : from.At(row, i)]);
    }
  }
  return places;
}

template <class T>
static Results RunScatterReduce(const Case& test_case) {
  const Arguments args(test_case);
  return Reduced<T>(args, args.NumbersOf<T>("src"), PlacesOfTerms(args, "src", false));
}

template <class T>
static Results RunIndexReduce(const Case& test_case) {
  const Arguments args(test_case);
  return Reduced<T>(args, args.NumbersOf<T>("source"), PlacesOfTerms(args, "source", true));
}

template <class T>
static Results RunEmbeddingGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const Indices indices = args.IndicesOf("indices");
  const IntList shape = args.OutputShape();
  const int64_t padding = args.Int("padding_idx");
  const std::vector<int64_t> counts = HowOften(indices, shape[0]);
  Table<T> sums(shape[0], shape[1]);
  for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
    if (indices[i] == padding) continue;
    for (int64_t column = 0; column < shape[1]; ++column) {
      T term = grad[i * shape[1] + column];
      if (args.Flag("scale_grad_by_freq")) {
        const T factor = T{1} / static_cast<T>(counts[indices[i]]);
        term = term * factor;
      }
      T& sum = sums.At(indices[i], column);
      sum = sum + term;
    }
  }
  Results results;
  Append(results, sums.data, shape);
  return results;
}

template <class T>
static Results RunEmbeddingBag(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> weight = args.NumbersOf<T>("weight");
  const Numbers<T> factors = args.NumbersOf<T>("per_sample_weights");
  const Indices indices = args.IndicesOf("indices"), offsets = args.IndicesOf("offsets");
  const IntList shape = args.OutputShape();
  const int64_t padding = args.Int("padding_idx");
  const bool is_max = args.Text("mode") == "max";
  Table<T> results_of_bags(shape[0], shape[1]);
  Indices bag_of, sizes(static_cast<size_t>(shape[0]), 0), maxima(results_of_bags.data.size(), 0);
  for (int64_t i = 0; i < static_cast<int64_t>(indices.size()); ++i) {
    int64_t bag = 0;
    for (int64_t b = 0; b < shape[0]; ++b) bag = offsets[b] <= i ? b : bag;
    bag_of.push_back(bag);
    if (padding >= 0 && indices[i] == padding) continue;
    ++sizes[bag];
    for (int64_t column = 0; column < shape[1]; ++column) {
      T term = weight[indices[i] * shape[1] + column];
      T& result = results_of_bags.At(bag, column);
      if (is_max) {
        if (sizes[bag] > 1 && !(term > result)) continue;
        result = term;
        maxima[bag * shape[1] + column] = indices[i];
        continue;
      }
      if (args.Has("per_sample_weights")) term = term * factors[i];
      result = result + term;
    }
  }
  if (args.Text("mode") == "mean") {
    for (int64_t bag = 0; bag < shape[0]; ++bag) {
      for (int64_t column = 0; column < shape[1]; ++column) {
        T& result = results_of_bags.At(bag, column);
        if (sizes[bag] > 0) result = result / static_cast<T>(sizes[bag]);
      }
    }
  }
  Results results;
  Append(results, results_of_bags.data, shape);
  Append(results, bag_of, args.OutputShape(1));
  Append(results, sizes, args.OutputShape(2));
  Append(results, is_max ? maxima : Indices(sizes.size(), 0), args.OutputShape(3));
  return results;
}

template <class T>
static Results RunEmbeddingBagGrad(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> grad = args.NumbersOf<T>("grad_output");
  const Numbers<T> factors = args.NumbersOf<T>("per_sample_weights");
  const Indices indices = args.IndicesOf("indices");
  const Indices bag_of = args.IndicesOf("offset2bag");
  const Indices sizes = args.IndicesOf("bag_size");
  const Indices maxima = args.IndicesOf("maximum_indices");
  const IntList shape = args.OutputShape();
  const int64_t padding = args.Int("padding_idx");
  const bool is_max = args.Text("mode") == "max";
  const std::vector<int64_t> counts = HowOften(indices, shape[0]);
  Table<T> sums(shape[0], shape[1]);
  for (int64_t i = 0; !is_max && i < static_cast<int64_t>(indices.size()); ++i) {
    if (padding >= 0 && indices[i] == padding) continue;
    const int64_t size = sizes[bag_of[i]];
    for (int64_t column = 0; column < shape[1]; ++column) {
      T term = grad[bag_of[i] * shape[1] + column];
      if (args.Text("mode") == "mean" && size != 0) term = term / static_cast<T>(size);
      if (args.Has("per_sample_weights")) term = term * factors[i];
      if (args.Flag("scale_grad_by_freq")) term = term / static_cast<T>(counts[indices[i]]);
      T& sum = sums.At(indices[i], column);
      sum = sum + term;
    }
  }
  for (int64_t at = 0; is_max && at < static_cast<int64_t>(grad.size()); ++at) {
    if (sizes[at / shape[1]] == 0) continue;
    T& sum = sums.At(maxima[at], at % shape[1]);
    sum = sum + grad[at];
  }
  Results results;
  Append(results, sums.data, shape);
  return results;
}

template <class T>
static Results RunSparseMm(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> values = args.NumbersOf<T>("values");
  const Numbers<T> mat2 = args.NumbersOf<T>("mat2");
  const Indices rows = args.IndicesOf("row_indices");
  const Indices columns = args.IndicesOf("col_indices");
  const IntList shape = args.OutputShape();
  Table<T> sums(shape[0], shape[1]);
  for (size_t i = 0; i < values.size(); ++i) {
    for (int64_t column = 0; column < shape[1]; ++column) {
      const T term = values[i] * mat2[columns[i] * shape[1] + column];
      T& sum = sums.At(rows[i], column);
      sum = sum + term;
    }
  }
  Results results;
  Append(results, sums.data, shape);
  return results;
}

template <class T>
static Results RunSampledMm(const Case& test_case) {
  const Arguments args(test_case);
  const Numbers<T> a = args.NumbersOf<T>("input"), b = args.NumbersOf<T>("mat2");
  const Indices rows = args.IndicesOf("row_indices");
  const Indices columns = args.IndicesOf("col_indices");
  const int64_t depth = args.Shape("mat2")[0], width = args.Shape("mat2")[1];
  Numbers<T> output(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    ProductOf<T> product(args.TheOrder());
    for (int64_t k = 0; k < depth; ++k) product.Add(a[rows[i] * depth + k], b[k * width + columns[i]]);
    output[i] = product.Result();
  }
  Results results;
  Append(results, output, args.OutputShape());
  return results;
}

static const Op kOps[] = {{"index_add", REPDL_EITHER(RunIndexAdd)},
                          {"scatter_add", REPDL_EITHER(RunScatterAdd)},
                          {"scatter_reduce", REPDL_EITHER(RunScatterReduce)},
                          {"index_reduce", REPDL_EITHER(RunIndexReduce)},
                          {"embedding_grad", REPDL_EITHER(RunEmbeddingGrad)},
                          {"embedding_bag", REPDL_EITHER(RunEmbeddingBag)},
                          {"embedding_bag_grad", REPDL_EITHER(RunEmbeddingBagGrad)},
                          {"sparse_mm", REPDL_EITHER(RunSparseMm)},
                          {"sampled_mm", REPDL_EITHER(RunSampledMm)}};

}  // namespace repdl::reference
