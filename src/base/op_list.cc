// SPDX-License-Identifier: MIT
// Compiled for each library of ops, with the folders that it has.
#include <algorithm>

#include "repdl/op.h"
#include "repdl_op_folders.h"  // generated: REPDL_FOR_EACH_OP_FOLDER

namespace repdl {
namespace internal {

#define REPDL_DECLARE_OPS_OF(folder) std::vector<OpInfo> OpsOf_##folder();
REPDL_FOR_EACH_OP_FOLDER(REPDL_DECLARE_OPS_OF)
#undef REPDL_DECLARE_OPS_OF

}  // namespace internal

std::span<const OpInfo> AllOps() {
  static const std::vector<OpInfo> ops = [] {
    std::vector<OpInfo> all;
#define REPDL_APPEND_OPS_OF(folder) \
  for (OpInfo & op : internal::OpsOf_##folder()) all.push_back(std::move(op));
    REPDL_FOR_EACH_OP_FOLDER(REPDL_APPEND_OPS_OF)
#undef REPDL_APPEND_OPS_OF
    std::ranges::sort(all, {}, &OpInfo::name);
    return all;
  }();
  return ops;
}

}  // namespace repdl
