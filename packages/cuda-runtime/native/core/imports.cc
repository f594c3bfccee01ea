#include "imports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace mercer {
namespace {

#if defined(__x86_64__)
bool isImport(uint32_t type) { return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT; }
#elif defined(__aarch64__)
bool isImport(uint32_t type) { return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT; }
#else
#error "the relocations of this architecture are not known"
#endif

/// The parts of a library's dynamic section that its imports stand in.
struct Dynamic {
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela)* tables[2] = {};
  size_t bytes[2] = {};
};

Dynamic dynamicOf(const link_map& map) {
  // Most C libraries have added the base address here already.
  const auto at = [&](ElfW(Addr) address) {
    return reinterpret_cast<const void*>(address < map.l_addr ? address + map.l_addr : address);
  };
  Dynamic found;
  for (const ElfW(Dyn)* entry = map.l_ld; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: found.symbols = static_cast<const ElfW(Sym)*>(at(entry->d_un.d_ptr)); break;
      case DT_STRTAB: found.names = static_cast<const char*>(at(entry->d_un.d_ptr)); break;
      case DT_JMPREL: found.tables[0] = static_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr)); break;
      case DT_PLTRELSZ: found.bytes[0] = entry->d_un.d_val; break;
      case DT_RELA: found.tables[1] = static_cast<const ElfW(Rela)*>(at(entry->d_un.d_ptr)); break;
      case DT_RELASZ: found.bytes[1] = entry->d_un.d_val; break;
      default: break;
    }
  }
  return found;
}

}  // namespace

bool replaceImport(void* library, const char* name, void* replacement) {
  link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !map || !map->l_ld) return false;
  const Dynamic dynamic = dynamicOf(*map);
  if (!dynamic.symbols || !dynamic.names) return false;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  bool replaced = false;
  for (int table = 0; table < 2; ++table) {
    if (!dynamic.tables[table]) continue;
    for (size_t i = 0; i < dynamic.bytes[table] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& entry = dynamic.tables[table][i];
      if (!isImport(static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)))) continue;
      const ElfW(Sym)& symbol = dynamic.symbols[ELF64_R_SYM(entry.r_info)];
      if (std::strcmp(dynamic.names + symbol.st_name, name) != 0) continue;
      const uintptr_t slot = map->l_addr + entry.r_offset;
      // The loader may have made the page read-only after it bound the imports.
      if (mprotect(reinterpret_cast<void*>(slot & ~(page - 1)), page, PROT_READ | PROT_WRITE)) continue;
      __atomic_store_n(reinterpret_cast<void**>(slot), replacement, __ATOMIC_RELEASE);
      replaced = true;
    }
  }
  return replaced;
}

}  // namespace mercer
