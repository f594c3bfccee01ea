#include "cpu-info.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace mercer::cpu {

namespace {

#if defined(__x86_64__)
struct Leaf {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  Leaf(unsigned leaf, unsigned sub) { __get_cpuid_count(leaf, sub, &eax, &ebx, &ecx, &edx); }
};

bool has(unsigned word, std::initializer_list<int> bits) {
  for (int bit : bits)
    if (((word >> bit) & 1u) == 0) return false;
  return true;
}

// State that the operating system saves on a task switch: without it AVX faults although cpuid has it.
uint64_t savedState() {
  if (!has(Leaf(1, 0).ecx, {27})) return 0;  // OSXSAVE
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// The levels of the x86-64 psABI.
int x86Level() {
  const Leaf basic(1, 0), extended(7, 0), amd(0x80000001u, 0);
  const uint64_t state = savedState();
  // SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT; LAHF in 64-bit mode
  if (!has(basic.ecx, {0, 9, 13, 19, 20, 23}) || !has(amd.ecx, {0})) return 1;
  // FMA, MOVBE, AVX, F16C; BMI1, AVX2, BMI2; LZCNT; XMM and YMM saved
  if (!has(basic.ecx, {12, 22, 28, 29}) || !has(extended.ebx, {3, 5, 8}) || !has(amd.ecx, {5}) ||
      (state & 0x6) != 0x6)
    return 2;
  // AVX512 F, DQ, CD, BW, VL; opmask and ZMM saved
  if (!has(extended.ebx, {16, 17, 28, 30, 31}) || (state & 0xE6) != 0xE6) return 3;
  return 4;
}
#endif

std::string firstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

uint64_t parseSize(const std::string& text) {
  char* end = nullptr;
  const uint64_t value = std::strtoull(text.c_str(), &end, 10);
  if (*end == 'K') return value << 10;
  if (*end == 'M') return value << 20;
  return value;
}

uint64_t cacheFromSystem(int level) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
    if (firstLine(folder + "level") != std::to_string(level)) continue;
    if (firstLine(folder + "type") == "Instruction") continue;
    return parseSize(firstLine(folder + "size"));
  }
  return 0;
}

uint64_t cacheFromLibrary(int level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  const long size = sysconf(names[level - 1]);
  return size > 0 ? static_cast<uint64_t>(size) : 0;
#else
  (void)level;
  return 0;
#endif
}

uint64_t cacheBytes(int level, uint64_t otherwise) {
  if (const uint64_t size = cacheFromSystem(level)) return size;
  if (const uint64_t size = cacheFromLibrary(level)) return size;
  return otherwise;
}

std::string modelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

CpuInfo cpuInfo() {
  CpuInfo info{};
#if defined(__x86_64__)
  static constexpr const char* kLevels[] = {"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"};
  static constexpr const char* kSimd[] = {"sse", "sse", "avx2", "avx512"};
  const int level = x86Level();
  info.level = kLevels[level - 1];
  info.simd = kSimd[level - 1];
#else
  info.level = "arm64";
  info.simd = "neon";
#endif
  info.model = modelName();
  info.l1Bytes = cacheBytes(1, 32u << 10);
  info.l2Bytes = cacheBytes(2, 512u << 10);
  info.l3Bytes = cacheBytes(3, 0);
  return info;
}

}  // namespace mercer::cpu
