// SPDX-License-Identifier: MIT
#include "base/op_registry.h"

#include <algorithm>

#include "base/check.h"
#include "repdl_cuda_folders.h"  // generated: kHasCuda_<folder>
#include "repdl_op_folders.h"    // generated: REPDL_FOR_EACH_OP_FOLDER

namespace repdl {
namespace internal {

#define REPDL_DECLARE_OPS_OF(folder) std::vector<OpInfo> OpsOf_##folder();
REPDL_FOR_EACH_OP_FOLDER(REPDL_DECLARE_OPS_OF)
#undef REPDL_DECLARE_OPS_OF

double ParseNumber(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::pair<std::string_view, std::string_view> NextArg(std::string_view& names) {
  const size_t end = std::min(names.find(','), names.size());
  std::string_view arg = names.substr(0, end);
  names.remove_prefix(std::min(names.size(), end + 1));
  while (names.starts_with(' ') || names.starts_with('\n')) names.remove_prefix(1);
  const size_t equals = arg.find('=');
  if (equals == std::string_view::npos) return {arg, {}};
  return {arg.substr(0, equals), arg.substr(equals + 1)};
}

}  // namespace internal

Specs::Specs(std::initializer_list<TensorSpec> list) : size(static_cast<int>(list.size())) {
  std::copy(list.begin(), list.end(), spec.begin());
  for (const TensorSpec& output : list) {
    REPDL_CHECK(IsCountable(output.dtype, output.shape), "a result of shape ", Name(output.shape),
                " has elements that cannot be counted in 64 bits; use smaller operands");
  }
}

std::string OpInfo::Schema() const {
  std::string text(name);
  text += '(';
  char letter = 'a';
  for (const ArgInfo& arg : args) {
    if (&arg != args.data()) text += ", ";
    if (arg.IsMutated()) {
      text += Message("Tensor(", letter++, "!)", arg.IsOptional() ? "?" : "");
    } else {
      text += arg.type;
    }
    text += ' ';
    text += arg.name;
    if (!arg.default_text.empty()) text += Message('=', arg.default_text);
  }
  text += ") -> ";
  if (num_outputs == 1) return text + "Tensor";
  text += '(';
  for (int i = 0; i < num_outputs; ++i) text += i == 0 ? "Tensor" : ", Tensor";
  return text + ')';
}

const ArgInfo* OpInfo::FindArg(std::string_view arg_name) const {
  const auto it = std::ranges::find(args, arg_name, &ArgInfo::name);
  return it == args.end() ? nullptr : &*it;
}

std::span<const OpInfo> AllOps() {
  static const std::vector<OpInfo> ops = [] {
    std::vector<OpInfo> all;
#define REPDL_APPEND_OPS_OF(folder)                \
  for (OpInfo & op : internal::OpsOf_##folder()) { \
    op.has_cuda = internal::kHasCuda_##folder;     \
    all.push_back(std::move(op));                  \
  }
    REPDL_FOR_EACH_OP_FOLDER(REPDL_APPEND_OPS_OF)
#undef REPDL_APPEND_OPS_OF
    std::ranges::sort(all, {}, &OpInfo::name);
    return all;
  }();
  return ops;
}

const OpInfo* FindOp(std::string_view name) {
  const auto ops = AllOps();
  const auto it = std::ranges::lower_bound(ops, name, {}, &OpInfo::name);
  return it != ops.end() && it->name == name ? &*it : nullptr;
}

}  // namespace repdl
