#include "image.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "error.h"
#include "fp-control.h"

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 0x0001U
#endif
#ifndef MFD_ALLOW_SEALING
#define MFD_ALLOW_SEALING 0x0002U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace mercer::cpu {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#else
constexpr uint16_t kMachine = EM_AARCH64;
#endif

[[noreturn]] void refuse(const std::string& why) {
  throw RuntimeError("LOAD_FAILED", "loading a compiled kernel failed: " + why +
                                        ". Compile it again for this machine with cpu.compile.");
}

void checkElf(const uint8_t* bytes, size_t size) {
  if (size < sizeof(Elf64_Ehdr)) refuse("the image has only " + std::to_string(size) + " bytes");
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) refuse("the image is not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kMachine)
    refuse("the image is for another machine (ELF machine " + std::to_string(header.e_machine) +
           ")");
  if (header.e_type != ET_DYN) refuse("the image is not a shared object");
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 || header.e_phoff > size ||
      (size - header.e_phoff) / sizeof(Elf64_Phdr) < header.e_phnum)
    refuse("the image is truncated (program headers)");
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type == PT_NULL || segment.p_type == PT_GNU_STACK) continue;
    if (segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
      refuse("the image is truncated (segment " + std::to_string(i) + ")");
  }
  // The section headers close the file; the loader does not need them, a cut file lacks them.
  if (header.e_shnum != 0 &&
      (header.e_shoff > size || (size - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum))
    refuse("the image is truncated (section headers)");
}

int makeMemfd() {
  // MFD_EXEC is known from Linux 6.3 on, and needed where vm.memfd_noexec is set.
  long fd = syscall(SYS_memfd_create, "mercer-kernel",
                    MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
  if (fd < 0 && errno == EINVAL)
    fd = syscall(SYS_memfd_create, "mercer-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) refuse(std::string("memfd_create: ") + std::strerror(errno));
  return static_cast<int>(fd);
}

struct Descriptor {
  int fd;
  ~Descriptor() { close(fd); }
};

void writeAll(int fd, const uint8_t* bytes, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, bytes, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) refuse(std::string("writing to memory file: ") + std::strerror(errno));
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

// A spelling of the descriptor's path that no earlier load used (see DESIGN.md, Loading).
std::string uniquePath(int fd) {
  static std::atomic<uint64_t> counter{0};
  std::string path = "/proc/self/fd";
  for (uint64_t n = counter.fetch_add(1); n != 0; n >>= 1) path += (n & 1) ? "/." : "/";
  return path + "/" + std::to_string(fd);
}

}  // namespace

std::shared_ptr<Image> Image::load(const uint8_t* bytes, size_t size, bool guard) {
  checkElf(bytes, size);
  Descriptor file{makeMemfd()};
  writeAll(file.fd, bytes, size);
  fcntl(file.fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);

  const uint64_t before = fpControl();
  void* handle = dlopen(uniquePath(file.fd).c_str(), RTLD_NOW | RTLD_LOCAL);
  const uint64_t after = fpControl();
  if (guard && after != before) setFpControl(before);
  if (handle == nullptr) {
    const char* why = dlerror();
    refuse(why != nullptr ? why : "dlopen gave no reason");
  }
  if (guard && after != before) {
    dlclose(handle);
    setFpControl(before);
    throw RuntimeError(
        "FLOAT_CONTROL_CHANGED",
        "loading a compiled kernel failed: its start-up code changed the floating-point control "
        "word, which would flush denormal numbers in the whole program. Compile it without "
        "-ffast-math or -Ofast, with cpu.compile.");
  }
  return std::shared_ptr<Image>(new Image(handle));
}

Image::~Image() { dlclose(handle_); }

KernelFn Image::find(const std::string& entry) const {
  dlerror();
  void* symbol = dlsym(handle_, entry.c_str());
  const char* why = dlerror();
  if (symbol == nullptr)
    throw RuntimeError("SYMBOL_NOT_FOUND", "looking up the kernel \"" + entry + "\" failed: " +
                                               (why != nullptr ? why : "it is null") +
                                               ". Declare it extern \"C\" under this name.");
  return reinterpret_cast<KernelFn>(symbol);
}

}  // namespace mercer::cpu
