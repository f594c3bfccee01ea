#include "library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstring>

namespace mercer {

OpenResult Library::open(const std::vector<Candidate>& candidates, const char* knownSymbol,
                         const Accept& accept) {
  std::lock_guard lock(mutex_);
  OpenResult result;
  if (opened_) {
    result.opened = true;
    result.path = path_;
    return result;
  }
  for (const auto& candidate : candidates) {
    const int flags = RTLD_LAZY | RTLD_LOCAL | (candidate.onlyIfLoaded ? RTLD_NOLOAD : 0);
    void* handle = dlopen(candidate.path.c_str(), flags);
    const char* text = handle ? nullptr : dlerror();
    if (!handle) {
      const char* fallback = candidate.onlyIfLoaded ? "not loaded in this process" : "not found";
      result.attempts.push_back({candidate.path, candidate.onlyIfLoaded || !text ? fallback : text});
      continue;
    }
    const void* symbol = dlsym(handle, knownSymbol);
    std::string path = symbol ? fileOfSymbol(symbol) : std::string();
    if (path.empty()) path = candidate.path;
    std::string refusal = symbol ? accept(handle, path)
                                 : std::string("it has no symbol ") + knownSymbol;
    result.attempts.push_back({candidate.path, refusal});
    if (!refusal.empty()) continue;
    opened_ = true;
    path_ = path;
    result.opened = true;
    result.path = path;
    break;
  }
  return result;
}

std::string fileOfSymbol(const void* address) {
  Dl_info info;
  if (!dladdr(address, &info) || !info.dli_fname) return {};
  char* real = realpath(info.dli_fname, nullptr);
  std::string path = real ? real : info.dli_fname;
  free(real);
  return path;
}

namespace {

struct BuildId {
  uintptr_t address;
  std::string hex;
};

int findBuildId(dl_phdr_info* info, size_t, void* data) {
  auto* wanted = static_cast<BuildId*>(data);
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& header = info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && wanted->address >= start &&
        wanted->address < start + header.p_memsz)
      inside = true;
  }
  if (!inside) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
    const auto* end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
      const char* name = at + sizeof(*note);
      const char* desc = name + ((note->n_namesz + 3) & ~3u);
      if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
        static const char digits[] = "0123456789abcdef";
        for (unsigned k = 0; k < note->n_descsz; k++) {
          const auto byte = static_cast<unsigned char>(desc[k]);
          wanted->hex += digits[byte >> 4];
          wanted->hex += digits[byte & 15];
        }
        return 1;
      }
      at = desc + ((note->n_descsz + 3) & ~3u);
    }
  }
  return 1;
}

}  // namespace

std::string fileIdentity(const void* address) {
  BuildId id{reinterpret_cast<uintptr_t>(address), {}};
  dl_iterate_phdr(findBuildId, &id);
  if (!id.hex.empty()) return id.hex;
  struct stat file;
  if (stat(fileOfSymbol(address).c_str(), &file)) return "unknown";
  return std::to_string(file.st_size) + "-" + std::to_string(file.st_mtime);
}

}  // namespace mercer
