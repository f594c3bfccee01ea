// What the processor can do and how much of it this process may use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mercer::cpu {

struct CpuInfo {
  const char* level;  // x86-64-v2 .. v4, arm64; x86-64-v1 where v2 is missing
  const char* simd;   // avx512, avx2, sse, neon
  std::string model;
  uint64_t l1Bytes;  // data, per core
  uint64_t l2Bytes;  // per core
  uint64_t l3Bytes;  // shared, 0 when there is none
};

CpuInfo cpuInfo();

// CPUs of the affinity mask, cut to the cgroup quota (rounded up); at least 1.
size_t availableCores();

}  // namespace mercer::cpu
