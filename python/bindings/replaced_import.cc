// SPDX-License-Identifier: MIT
#include "replaced_import.h"

#if defined(__linux__) && defined(__LP64__)
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace repdl {
namespace {

/// What a shared library says of itself: the calls that it makes through a table, and the names of what they call.
struct Imports {
  uintptr_t base = 0;
  const ElfW(Rela) * calls = nullptr;
  size_t size_of_calls = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
};

bool Holds(const dl_phdr_info& library, uintptr_t address) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = library.dlpi_phdr[i];
    const uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && begin <= address && address < begin + segment.p_memsz) return true;
  }
  return false;
}

Imports ImportsOf(const dl_phdr_info& library) {
  Imports imports{library.dlpi_addr};
  bool has_addends = false;
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    if (library.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + library.dlpi_phdr[i].p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      const uintptr_t value = entry->d_un.d_ptr;
      if (entry->d_tag == DT_JMPREL) imports.calls = reinterpret_cast<const ElfW(Rela)*>(value);
      if (entry->d_tag == DT_PLTRELSZ) imports.size_of_calls = value;
      if (entry->d_tag == DT_SYMTAB) imports.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
      if (entry->d_tag == DT_STRTAB) imports.names = reinterpret_cast<const char*>(value);
      if (entry->d_tag == DT_PLTREL) has_addends = value == DT_RELA;
    }
  }
  const bool is_whole =
      has_addends && imports.calls != nullptr && imports.symbols != nullptr && imports.names != nullptr;
  return is_whole ? imports : Imports{};
}

/// Where the address stands that a call goes to; null if there is none.
void** Find(const Imports& imports, const char* name) {
  for (size_t i = 0; i < imports.size_of_calls / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& call = imports.calls[i];
    const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(call.r_info)];
    if (std::strcmp(imports.names + symbol.st_name, name) == 0) {
      return reinterpret_cast<void**>(imports.base + call.r_offset);
    }
  }
  return nullptr;
}

}  // namespace

bool ReplaceImport(const char* name, void* function, void* by) {
  struct {
    uintptr_t function;
    Imports imports;
  } wanted{reinterpret_cast<uintptr_t>(function), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* library, size_t, void* p) {
        auto& found = *static_cast<decltype(wanted)*>(p);
        if (!Holds(*library, found.function)) return 0;
        found.imports = ImportsOf(*library);
        return 1;
      },
      &wanted);
  void** const slot = Find(wanted.imports, name);
  if (slot == nullptr) return false;
  const uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  void* const begin = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(slot) / page * page);
  if (mprotect(begin, page, PROT_READ | PROT_WRITE) != 0) return false;
  std::atomic_ref(*slot).store(by, std::memory_order_release);
  return true;
}

}  // namespace repdl

#else

namespace repdl {

bool ReplaceImport(const char*, void*, void*) { return false; }

}  // namespace repdl

#endif
