// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "base/place.h"
#include "repdl/error.h"
#include "repdl/op.h"
#include "repdl/tensor.h"

namespace repdl {

/// Names an argument in a message: "[mm] mat2".
struct ArgName {
  std::string_view op;
  std::string_view arg;
};
std::ostream& operator<<(std::ostream& out, const ArgName& name);

/// Whether the sizes are not negative and their product, without zeros, is a number of bytes. Every tensor that a check
/// below has passed is countable: no count of its elements or stride of a row-major copy of it overflows.
bool IsCountable(DType dtype, const IntList& shape);

/// TypeError unless the tensor holds `dtype`.
void CheckDType(const ArgName& name, const TensorView& tensor, DType dtype);

/// ValueError unless min_rank <= rank <= max_rank. `layout` says what is expected: "(m, k)".
void CheckRank(const ArgName& name, const TensorView& tensor, int min_rank, int max_rank, std::string_view layout);

/// ValueError unless the shape is exactly this.
void CheckShape(const ArgName& name, const TensorView& tensor, const IntList& shape);

/// ValueError unless both live on one device.
void CheckSameDevice(const ArgName& name, const TensorView& tensor, const TensorView& other);

/// TypeError unless the tensor holds one of the dtypes that the table has for the op.
void CheckFloating(const ArgName& name, const TensorView& tensor);

/// The same, and the dtype and the device of `like`.
void CheckFloat(const ArgName& name, const TensorView& tensor, const TensorView& like);

/// The same, and exactly this shape, of a tensor that there is.
void CheckFloat(const ArgName& name, const std::optional<TensorView>& tensor, const IntList& shape,
                const TensorView& like);

/// A dimension counted from the end if negative; ValueError if it is out of range.
int CheckDim(const ArgName& name, int64_t dim, int rank);

/// ValueError unless height and width lie in [least, 2^31 - 1], so that sizes made of them cannot overflow.
void CheckPair(const ArgName& name, IntPair pair, int64_t least);

/// Outputs made by somebody else: shape, dtype, device, and no gaps or overlaps.
void CheckOutputs(std::string_view op, const Specs& specs, std::initializer_list<const TensorView*> outputs,
                  const TensorView& like);

}  // namespace repdl
