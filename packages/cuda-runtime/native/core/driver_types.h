// CUDA driver types, declared by hand for CUDA 12.0 and newer (checked by check/abi_check.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::cu {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using cuuint32_t = uint32_t;
using cuuint64_t = uint64_t;

using CUcontext = struct CUctx_st*;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUmemoryPool = struct CUmemPoolHandle_st*;
using CUhostFn = void (*)(void*);

struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  void** kernelParams;
  void** extra;
  void* kern;
  CUcontext ctx;
};

struct CUDA_CONDITIONAL_NODE_PARAMS {
  cuuint64_t handle;
  int type;  // 1: repeated while the condition is not 0
  unsigned size;
  CUgraph* graphs;  // the driver's
  CUcontext ctx;
};

struct CUgraphNodeParams {
  int type;
  int reserved0[3];
  union {
    long long reserved1[29];
    CUDA_CONDITIONAL_NODE_PARAMS conditional;
  };
  long long reserved2;
};

inline constexpr int kNodeConditional = 13;
inline constexpr int kConditionWhile = 1;
inline constexpr unsigned kConditionAssignDefault = 1;

inline constexpr CUresult kSuccess = 0;
inline constexpr CUresult kInvalidValue = 1;
inline constexpr CUresult kOutOfMemory = 2;
inline constexpr CUresult kDeinitialized = 4;
inline constexpr CUresult kNoDevice = 100;
inline constexpr CUresult kInvalidContext = 201;
inline constexpr CUresult kUnsupportedPtxVersion = 222;
inline constexpr CUresult kNotFound = 500;
inline constexpr CUresult kNotReady = 600;
inline constexpr CUresult kPeerAccessAlreadyEnabled = 704;
inline constexpr CUresult kNotSupported = 801;

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kHostAllocPortable = 1;
inline constexpr int kCaptureModeRelaxed = 2;
inline constexpr unsigned kSetCaptureDependencies = 1;

struct CUuuid {
  char bytes[16];
};

struct CUmemLocation {
  int type;  // 1: device
  int id;
};

struct CUmemPoolProps {
  int allocType;  // 1: pinned
  int handleTypes;
  CUmemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

struct CUmemAccessDesc {
  CUmemLocation location;
  int flags;  // 3: read and write
};

inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kPoolReservedCurrent = 5;
inline constexpr int kPoolUsedCurrent = 7;

union CUlaunchAttributeValue {
  char pad[64];
  struct {
    unsigned x, y, z;
  } clusterDim;
  int programmaticStreamSerializationAllowed;
};

struct CUlaunchAttribute {
  int id;
  char pad[4];
  CUlaunchAttributeValue value;
};

inline constexpr int kAttributeClusterDimension = 4;
inline constexpr int kAttributeProgrammaticStreamSerialization = 6;

struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

// 64 bytes in CUDA 12, 128 in CUDA 13.
struct alignas(128) CUtensorMap {
  cuuint64_t opaque[16];
};

inline constexpr int kFuncMaxThreadsPerBlock = 0;
inline constexpr int kFuncSharedBytes = 1;
inline constexpr int kFuncConstBytes = 2;
inline constexpr int kFuncLocalBytes = 3;
inline constexpr int kFuncRegisters = 4;
inline constexpr int kFuncPtxVersion = 5;
inline constexpr int kFuncBinaryVersion = 6;
inline constexpr int kFuncMaxDynamicShared = 8;
inline constexpr int kFuncNonPortableCluster = 14;

inline constexpr int kDeviceMajor = 75;
inline constexpr int kDeviceMinor = 76;
inline constexpr int kDeviceMemoryPools = 115;

}  // namespace mercer::cu
