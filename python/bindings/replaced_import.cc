// SPDX-License-Identifier: MIT
#include "replaced_import.h"

#if defined(__linux__) && defined(__LP64__)
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>

namespace repdl {
namespace {

/// What a shared library says of itself: the words that the loader fills in, and the names of what it looks for.
struct Library {
  uintptr_t base = 0;
  std::array<std::span<const ElfW(Rela)>, 2> relocations;  // of calls through a table; of all other words
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  uintptr_t read_only = 0, read_only_end = 0;  // once it is loaded
};

bool Holds(const dl_phdr_info& library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin <= address && address < begin + segment.p_memsz) return true;
  }
  return false;
}

Library Read(const dl_phdr_info& info) {
  Library library;
  library.base = info.dlpi_addr;
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_DYNAMIC) entry = reinterpret_cast<const ElfW(Dyn)*>(begin);
    if (segment.p_type == PT_GNU_RELRO) library.read_only = begin, library.read_only_end = begin + segment.p_memsz;
  }
  if (entry == nullptr) return {};
  uintptr_t calls = 0, others = 0, symbols = 0, names = 0;
  size_t calls_size = 0, others_size = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    const uintptr_t value = entry->d_un.d_val;
    // Some loaders leave addresses as they are in the file.
    const uintptr_t address = value < library.base ? library.base + value : value;
    if (entry->d_tag == DT_JMPREL) calls = address;
    if (entry->d_tag == DT_PLTRELSZ) calls_size = value;
    if (entry->d_tag == DT_PLTREL && value != DT_RELA) return {};
    if (entry->d_tag == DT_RELA) others = address;
    if (entry->d_tag == DT_RELASZ) others_size = value;
    if (entry->d_tag == DT_SYMTAB) symbols = address;
    if (entry->d_tag == DT_STRTAB) names = address;
  }
  if (symbols == 0 || names == 0) return {};
  const auto table = [](uintptr_t begin, size_t size) {
    return std::span(reinterpret_cast<const ElfW(Rela)*>(begin), begin == 0 ? 0 : size / sizeof(ElfW(Rela)));
  };
  library.relocations = {table(calls, calls_size), table(others, others_size)};
  library.symbols = reinterpret_cast<const ElfW(Sym)*>(symbols);
  library.names = reinterpret_cast<const char*>(names);
  return library;
}

Library LibraryWith(const void* address) {
  struct {
    uintptr_t address;
    Library library;
  } wanted{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* p) {
        auto& found = *static_cast<decltype(wanted)*>(p);
        if (!Holds(*info, found.address)) return 0;
        found.library = Read(*info);
        return 1;
      },
      &wanted);
  return wanted.library;
}

uintptr_t PageOf(uintptr_t address) {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / size * size;
}

bool Write(void** slot, bool is_read_only, void* address) {
  void* const page = reinterpret_cast<void*>(PageOf(reinterpret_cast<uintptr_t>(slot)));
  const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (mprotect(page, size, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref(*slot).store(address, std::memory_order_release);
  if (is_read_only) mprotect(page, size, PROT_READ);
  return true;
}

}  // namespace

ReplacedImports::ReplacedImports(const void* inside, std::span<const Import> imports) : found_(imports.size()) {
  const Library library = LibraryWith(inside);
  for (const std::span<const ElfW(Rela)> table : library.relocations) {
    for (const ElfW(Rela) & relocation : table) {
      const size_t symbol = ELF64_R_SYM(relocation.r_info);
      if (symbol == 0) continue;  // it has no name
      const char* const name = library.names + library.symbols[symbol].st_name;
      const auto import =
          std::ranges::find_if(imports, [&](const Import& i) { return std::strcmp(i.name, name) == 0; });
      if (import == imports.end()) continue;
      const uintptr_t address = library.base + relocation.r_offset, page = PageOf(address);
      const bool is_read_only = PageOf(library.read_only) <= page && page < PageOf(library.read_only_end);
      places_.push_back({reinterpret_cast<void**>(address), is_read_only, import->by, nullptr});
      found_[static_cast<size_t>(import - imports.begin())] = true;
    }
  }
}

bool ReplacedImports::Replace() {
  for (Place& place : places_) {
    void* const before = std::atomic_ref(*place.slot).load(std::memory_order_relaxed);
    if (before == place.ours) continue;
    if (!Write(place.slot, place.is_read_only, place.ours)) {
      Restore();
      return false;
    }
    place.before = before;
  }
  return true;
}

void ReplacedImports::Restore() {
  for (Place& place : places_) {
    void* const before = std::exchange(place.before, nullptr);
    // Somebody else may have replaced it since.
    if (before == nullptr || std::atomic_ref(*place.slot).load(std::memory_order_relaxed) != place.ours) continue;
    Write(place.slot, place.is_read_only, before);
  }
}

}  // namespace repdl

#else

namespace repdl {

ReplacedImports::ReplacedImports(const void*, std::span<const Import> imports) : found_(imports.size()) {}

bool ReplacedImports::Replace() { return true; }

void ReplacedImports::Restore() {}

}  // namespace repdl

#endif
