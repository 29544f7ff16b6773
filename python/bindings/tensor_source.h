// SPDX-License-Identifier: MIT
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "repdl/tensor.h"

// Tensors of torch on the CPU, read straight by its functions in C, and made so on CUDA devices too: to ask DLPack, and to
// call from Python what makes a tensor, takes more time than a small op. And memory that comes by DLPack is not torch's own:
// `record_stream` would not keep it.

namespace repdl {

/// Says where torch has functions: `PyObject* THPVariable_Wrap(at::TensorBase&&)`, and of its C interface, aoti_torch_…,
/// `empty_strided`, `delete_tensor_object`, `is_defined`, `get_data_ptr`, `get_storage_offset`, `get_dim`, `get_sizes`,
/// `get_strides`, `get_dtype`, `get_device_type` and `get_layout`, in this order. A Python object is believed to hold its
/// tensor behind its head if `sample`, whose tensor is at `address`, does; `plain` are the types of such objects.
void SetTensorSource(const std::vector<uintptr_t>& functions, const nanobind::object& sample, uintptr_t address,
                     const nanobind::tuple& plain);

/// Whether an address may be an offset from nothing, as that of elements without memory is: it is then worth asking.
inline bool MayLackMemory(const void* data) { return reinterpret_cast<uintptr_t>(data) >> 38 == 0; }

/// Writes a dense tensor of real numbers to `view`, which is new. False for other objects, without a source, and for what
/// stands for numbers that have no memory.
bool ReadTensor(PyObject* object, TensorView& view);

/// An uninitialised tensor on a device of real or, with `is_complex`, of complex numbers, a new reference; `data` is where
/// it lies. Null, and no error, without a source, or if torch does not give one.
PyObject* NewTensor(DType dtype, bool is_complex, const IntList& shape, const IntList& strides, const Device& device,
                    void*& data);

/// A tensor as torch's functions in C have it: the address of an at::Tensor, which belongs to whom it was given.
using TensorHandle = void*;

/// ReadTensor and NewTensor for such; neither touches a Python object. `as_pairs` reads a tensor of complex numbers, whose
/// parts are a last dimension of the view, instead of one of real numbers.
bool ReadHandle(TensorHandle tensor, TensorView& view, bool as_pairs = false);
TensorHandle NewHandle(DType dtype, bool is_complex, const IntList& shape, const IntList& strides, const Device& device,
                       void*& data);
void DeleteHandle(TensorHandle tensor);

/// The type of which torch's number is this; none for one that the core does not have.
std::optional<DType> DTypeOfCode(int64_t code);

/// Whether it is a dense tensor on the CPU of integers or truth values.
bool IsWhole(TensorHandle tensor);

}  // namespace repdl
