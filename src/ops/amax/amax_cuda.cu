// SPDX-License-Identifier: MIT
#include "base/dispatch.h"
#include "base/op_scratch.h"
#include "drivers/row_cuda.h"
#include "numerics/functions_scalar.h"
#include "ops/amax/amax_kernel.h"

namespace repdl::cuda {

struct AmaxLargest {
  template <class T>
  REPDL_ROW static T Least() {
    return scalar::Neg(scalar::Inf(scalar::Tag<T>()));
  }
  template <class T>
  REPDL_ROW T operator()(T x, T y) const {
    return scalar::Maximum(x, y);
  }
};

struct AmaxSmallest {
  template <class T>
  REPDL_ROW static T Least() {
    return scalar::Inf(scalar::Tag<T>());
  }
  template <class T>
  REPDL_ROW T operator()(T x, T y) const {
    return scalar::Minimum(x, y);
  }
};

/// Rows of a tensor, of which each row here is a part: places part * length to (part + 1) * length of row r % num_rows.
struct AmaxRows {
  const void* x;
  DType dtype;
  scalar::DeviceLoops kept, reduced;
  int64_t num_rows, n, length;
  void* out;
  DType out_dtype;
};

template <class Pick>
struct AmaxOfRow {
  template <class Row>
  REPDL_ROW void operator()(Row row, int64_t r, const AmaxRows& rows) const {
    using T = typename Row::Number;
    const int64_t begin = r / rows.num_rows * rows.length, start = rows.kept.Offset(r % rows.num_rows);
    if (rows.n - begin < row.n) row.n = rows.n - begin;
    const auto number = [&](scalar::RowPlace at) {
      return scalar::LoadNumber<T>(rows.x, rows.dtype, start + rows.reduced.Offset(begin + at.index));
    };
    const T met = row.Reduce(number, Pick::template Least<T>(), Pick());
    if (row.IsFirst()) scalar::StoreNumber(rows.out, rows.out_dtype, r, met);
  }
};

/// Rows that are shorter leave no threads idle.
static constexpr int64_t kPart = 16384;

template <class Pick, class T>
static void Reduce(const Place& place, const AmaxArgs& args) {
  const int64_t num_rows = args.kept.Count(), n = args.reduced.Count();
  AmaxRows rows{args.x,   args.dtype, scalar::DeviceLoops(args.kept), scalar::DeviceLoops(args.reduced), num_rows, n, n,
                args.out, args.dtype};
  if (AreSideBySide(args.kept, args.reduced.InnerStride()) && AreEnoughForThreads(num_rows, n)) {
    return ForThreadRows<T, AmaxOfRow<Pick>>(place, RowsArgs<AmaxRows>{num_rows, n, Order::kBlocked, rows});
  }
  const int64_t parts = (n + kPart - 1) / kPart;
  if (parts == 1)
    return ForSharedRows<T, AmaxOfRow<Pick>>(place, RowsArgs<AmaxRows>{num_rows, n, Order::kBlocked, rows});
  OpScratch scratch(place);
  T* const of_parts = scratch.Get<T>(parts * num_rows);
  rows.length = kPart;
  rows.out = of_parts;
  rows.out_dtype = kDTypeOf<T>;
  ForSharedRows<T, AmaxOfRow<Pick>>(place, RowsArgs<AmaxRows>{parts * num_rows, kPart, Order::kBlocked, rows});
  Loops row, across;
  row.Append(num_rows, 1);
  across.Append(parts, num_rows);
  const AmaxRows left{
      of_parts, kDTypeOf<T>, scalar::DeviceLoops(row), scalar::DeviceLoops(across), num_rows, parts, parts,
      args.out, args.dtype};
  ForSharedRows<T, AmaxOfRow<Pick>>(place, RowsArgs<AmaxRows>{num_rows, parts, Order::kBlocked, left});
}

REPDL_CUDA_KERNEL(AmaxKernel, AmaxArgs) {
  DispatchReal(args.dtype, [&]<class T>() {
    if (args.smallest) {
      Reduce<AmaxSmallest, T>(place, args);
    } else {
      Reduce<AmaxLargest, T>(place, args);
    }
  });
}

}  // namespace repdl::cuda
