// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

namespace repdl {

/// A function that a library takes from wherever the loader finds it by name, and what it is to be instead.
struct Import {
  const char* name;
  void* by;
};

/// Imports of one shared library, or of the program: its calls by name, and the functions that it takes the addresses of.
class ReplacedImports {
 public:
  /// Looks for them in the library that holds the code at `inside`. That reads a long list, and is worth doing once.
  ReplacedImports(const void* inside, std::span<const Import> imports);

  /// Tells of each whether the library has it; of none where this cannot be done.
  const std::vector<bool>& found() const { return found_; }

  /// Puts ours in their place. False, with nothing changed, if the memory cannot be written to.
  bool Replace();

  /// Gives back what is still ours.
  void Restore();

 private:
  /// A word of the library's memory.
  struct Place {
    void** slot;
    bool is_read_only;
    void* ours;
    void* before;  // null while it is not replaced
  };
  std::vector<bool> found_;
  std::vector<Place> places_;
};

}  // namespace repdl
