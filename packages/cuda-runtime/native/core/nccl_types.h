// NCCL types, declared by hand for 2.14 and newer (checked by check/abi_check_nccl.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::nccl {

using Result = int;
using Comm = struct ncclComm*;

inline constexpr Result kSuccess = 0;
inline constexpr Result kInProgress = 7;

// ncclDataType_t
inline constexpr int kInt8 = 0;
inline constexpr int kUint8 = 1;
inline constexpr int kInt32 = 2;
inline constexpr int kUint32 = 3;
inline constexpr int kInt64 = 4;
inline constexpr int kUint64 = 5;
inline constexpr int kFloat16 = 6;
inline constexpr int kFloat32 = 7;
inline constexpr int kFloat64 = 8;
inline constexpr int kBfloat16 = 9;

// ncclRedOp_t
inline constexpr int kSum = 0;
inline constexpr int kProd = 1;
inline constexpr int kMax = 2;
inline constexpr int kMin = 3;
inline constexpr int kAvg = 4;

struct UniqueId {
  char internal[128];
};

/// As of 2.14, which is how it is versioned: newer libraries take their own defaults for what was added since.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = 21400;
  int blocking = 0;
  int unused = 0;
};

}  // namespace mercer::nccl
