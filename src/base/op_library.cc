// SPDX-License-Identifier: MIT
#include "base/op_library.h"

#include <dlfcn.h>

#include "base/parallel.h"
#include "base/place.h"
#include "repdl/error.h"
#include "repdl/load_ops.h"

namespace repdl {

std::span<const OpInfo> LoadOps(const std::string& path) {
  const std::string who = Message("[load_ops] ", path);
  // Names stay its own: two libraries of ops may both have what the other has.
  void* file = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) throw ValueError(Message(who, " cannot be loaded: ", dlerror()));
  const auto* library = static_cast<const internal::OpLibrary*>(dlsym(file, "repdl_op_library"));
  REPDL_CHECK(library != nullptr, who, " is no library of ops; build it with the CMake function repdl_add_ops");
  REPDL_CHECK(std::string_view(library->built_for) == internal::kBuiltFor, who, " was built for ", library->built_for,
              ", and this is ", internal::kBuiltFor, "; build it anew with the headers of this one");
  const std::span<const OpInfo> ops = library->ops();
  for (const OpInfo& op : ops) {
    const OpInfo* known = FindOp(op.name);
    if (known == &op) return ops;  // loaded before
    REPDL_CHECK(known == nullptr, who, " has an op '", op.name, "', which there is already; give yours another name");
  }
  static constexpr internal::OpHost kHost{&internal::ActiveTargetIndex, &GetNumThreads, &internal::CurrentCudaStream,
                                          &internal::RunTasks};
  library->set_host(kHost);
  internal::AddOps(ops);
  return ops;
}

}  // namespace repdl
