// SPDX-License-Identifier: MIT
#include "random_key.h"

#include <nanobind/stl/pair.h>

#include <stdexcept>
#include <utility>
#include <vector>

#include "generator_word.h"
#include "tensors.h"

namespace nb = nanobind;

namespace repdl {
namespace {

/// What a generator writes to if torch's kernel draws.
struct Cell {
  PyObject* tensor;
  const int64_t* value;
};

// Objects that are never freed.
struct {
  PyObject *draw, *keys, *make_cell, *default_generator, *of_device, *default_on;
  PyObject *low, *names, *seed;
  std::vector<Cell> free;  // the others are in use by a thread that waits for its generator without the GIL
} source;

PyObject* first_draw = nullptr;

Cell TakeCell() {
  if (!source.free.empty()) {
    const Cell cell = source.free.back();
    source.free.pop_back();
    return cell;
  }
  nb::object tensor = nb::steal(PyObject_CallNoArgs(source.make_cell));
  if (!tensor.is_valid()) throw PythonError();
  TensorView view;
  Tensors().Read(tensor.ptr(), "draw_key", "cell", /*writable=*/true, view);
  return {tensor.release().ptr(), view.Data<int64_t>()};
}

/// By torch's kernel.
int64_t DrawWord(PyObject* generator) {
  const Cell cell = TakeCell();
  PyObject* const arguments[] = {source.keys, cell.tensor, source.low, Py_None, generator};
  PyObject* const names = generator == source.default_generator ? nullptr : source.names;  // without takes less time
  const nb::object drawn = nb::steal(PyObject_Vectorcall(source.draw, arguments, 4, names));
  const int64_t word = *cell.value;
  source.free.push_back(cell);
  if (!drawn.is_valid()) throw PythonError();
  return word;
}

}  // namespace

void SetKeySource(nb::object draw, nb::object keys, nb::object make_cell, nb::object default_generator,
                  nb::object of_device, nb::object default_on) {
  source = {draw.release().ptr(),
            keys.release().ptr(),
            make_cell.release().ptr(),
            default_generator.release().ptr(),
            of_device.release().ptr(),
            default_on.release().ptr(),
            PyLong_FromLongLong(INT64_MIN),
            nb::make_tuple("generator").release().ptr(),
            PyUnicode_InternFromString("initial_seed"),
            {}};
}

void SetFirstDraw(nb::object call) { first_draw = call.is_none() ? nullptr : call.release().ptr(); }

std::pair<int64_t, int64_t> DrawKey(PyObject* generator, std::optional<int> cuda_device) {
  if (source.draw == nullptr) throw std::logic_error("the generators of random keys are set by repdl.random");
  nb::object of_device;
  if ((generator == nullptr || generator == Py_None) && cuda_device) {
    of_device = nb::steal(PyObject_CallFunction(source.default_on, "i", *cuda_device));
    if (!of_device.is_valid()) throw PythonError();
    generator = of_device.ptr();
  }
  if (generator == nullptr || generator == Py_None) generator = source.default_generator;
  if (first_draw != nullptr && generator == source.default_generator) {
    PyObject* const call = std::exchange(first_draw, nullptr);
    if (!nb::steal(PyObject_CallNoArgs(call)).is_valid()) throw PythonError();
  }
  if (const auto key = SeedAndWord(generator)) return *key;
  const nb::object key = nb::steal(PyObject_Vectorcall(source.of_device, &generator, 1, nullptr));
  if (!key.is_valid()) throw PythonError();
  if (!key.is_none()) return nb::cast<std::pair<int64_t, int64_t>>(key);
  const int64_t call = DrawWord(generator);
  const nb::object seed = nb::steal(PyObject_VectorcallMethod(source.seed, &generator, 1, nullptr));
  if (!seed.is_valid()) throw PythonError();
  return {static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(seed.ptr())), call};
}

}  // namespace repdl
