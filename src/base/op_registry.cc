// SPDX-License-Identifier: MIT
#include "base/op_registry.h"

#include <algorithm>
#include <atomic>

#include "base/check.h"
#include "base/op_library.h"

namespace repdl {
namespace internal {

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

bool OpInfo::HasCuda() const {
  return !kernels.empty() && std::ranges::all_of(kernels, [](const KernelInfo& kernel) { return kernel.has_cuda(); });
}

namespace {

/// Ops from outside of the library. Without a lock, which a forked child might find taken for ever.
struct AddedOps {
  std::span<const OpInfo> ops;
  const AddedOps* next;
};
std::atomic<const AddedOps*> added_ops{nullptr};

}  // namespace

namespace internal {

void AddOps(std::span<const OpInfo> ops) {
  auto* added = new AddedOps{ops, added_ops.load(std::memory_order_acquire)};  // as long as the process
  while (!added_ops.compare_exchange_weak(added->next, added, std::memory_order_acq_rel)) {
  }
}

}  // namespace internal

const OpInfo* FindOp(std::string_view name) {
  const auto ops = AllOps();
  const auto it = std::ranges::lower_bound(ops, name, {}, &OpInfo::name);
  if (it != ops.end() && it->name == name) return &*it;
  for (const AddedOps* added = added_ops.load(std::memory_order_acquire); added != nullptr; added = added->next) {
    const auto found = std::ranges::find(added->ops, name, &OpInfo::name);
    if (found != added->ops.end()) return &*found;
  }
  return nullptr;
}

}  // namespace repdl
