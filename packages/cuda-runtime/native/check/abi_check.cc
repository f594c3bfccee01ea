// Compares the hand declarations with a real cuda.h: compiled by a test where one exists, never by the build.
//   c++ -std=c++17 -fsyntax-only -I <toolkit>/include native/check/abi_check.cc
#define __CUDA_API_VERSION_INTERNAL 1  // every exported name, no renaming macros
#include <cuda.h>

#include "../core/driver_types.h"
#include "same_signature.h"

namespace {

using namespace mercer;

static_assert(sizeof(cu::CUuuid) == sizeof(::CUuuid));
static_assert(sizeof(cu::CUmemPoolProps) == sizeof(::CUmemPoolProps));
static_assert(offsetof(cu::CUmemPoolProps, location) == offsetof(::CUmemPoolProps, location));
static_assert(offsetof(cu::CUmemPoolProps, maxSize) == offsetof(::CUmemPoolProps, maxSize));
static_assert(sizeof(cu::CUmemAccessDesc) == sizeof(::CUmemAccessDesc));
static_assert(sizeof(cu::CUlaunchAttribute) == sizeof(::CUlaunchAttribute));
static_assert(offsetof(cu::CUlaunchAttribute, value) == offsetof(::CUlaunchAttribute, value));
static_assert(sizeof(cu::CUlaunchAttributeValue) == sizeof(::CUlaunchAttributeValue));
static_assert(sizeof(cu::CUlaunchConfig) == sizeof(::CUlaunchConfig));
static_assert(offsetof(cu::CUlaunchConfig, hStream) == offsetof(::CUlaunchConfig, hStream));
static_assert(offsetof(cu::CUlaunchConfig, numAttrs) == offsetof(::CUlaunchConfig, numAttrs));
static_assert(sizeof(cu::CUDA_KERNEL_NODE_PARAMS) == sizeof(::CUDA_KERNEL_NODE_PARAMS_v2));
static_assert(offsetof(cu::CUDA_KERNEL_NODE_PARAMS, kernelParams) == offsetof(::CUDA_KERNEL_NODE_PARAMS_v2, kernelParams));
static_assert(offsetof(cu::CUDA_KERNEL_NODE_PARAMS, ctx) == offsetof(::CUDA_KERNEL_NODE_PARAMS_v2, ctx));
static_assert(sizeof(cu::CUgraphNodeParams) == sizeof(::CUgraphNodeParams));
static_assert(offsetof(cu::CUgraphNodeParams, conditional) == offsetof(::CUgraphNodeParams, conditional));
static_assert(sizeof(cu::CUDA_CONDITIONAL_NODE_PARAMS) == sizeof(::CUDA_CONDITIONAL_NODE_PARAMS));
static_assert(offsetof(cu::CUDA_CONDITIONAL_NODE_PARAMS, size) == offsetof(::CUDA_CONDITIONAL_NODE_PARAMS, size));
static_assert(offsetof(cu::CUDA_CONDITIONAL_NODE_PARAMS, graphs) == offsetof(::CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));
static_assert(offsetof(cu::CUDA_CONDITIONAL_NODE_PARAMS, ctx) == offsetof(::CUDA_CONDITIONAL_NODE_PARAMS, ctx));
static_assert(cu::kNodeConditional == CU_GRAPH_NODE_TYPE_CONDITIONAL && cu::kConditionWhile == CU_GRAPH_COND_TYPE_WHILE);
static_assert(cu::kConditionAssignDefault == CU_GRAPH_COND_ASSIGN_DEFAULT);
static_assert(sizeof(cu::CUtensorMap) == sizeof(::CUtensorMap) && alignof(cu::CUtensorMap) >= alignof(::CUtensorMap));

static_assert(cu::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY && cu::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cu::kNotFound == CUDA_ERROR_NOT_FOUND && cu::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(cu::kPeerAccessAlreadyEnabled == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
static_assert(cu::kStreamNonBlocking == CU_STREAM_NON_BLOCKING && cu::kEventDisableTiming == CU_EVENT_DISABLE_TIMING);
static_assert(cu::kHostAllocPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(cu::kCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);
static_assert(cu::kSetCaptureDependencies == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
static_assert(cu::kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(cu::kPoolReservedCurrent == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(cu::kPoolUsedCurrent == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
static_assert(cu::kAttributeClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(cu::kAttributeProgrammaticStreamSerialization ==
              CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(cu::kDeviceMemoryPools == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(cu::kFuncMaxDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(cu::kFuncNonPortableCluster == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

}  // namespace

// Signatures: the declared one against the function that the exported name stands for in the header.
namespace mercer::cu {
#define MERCER_DRIVER(name, exported, version, required, ...) using name##_declared = __VA_ARGS__;
#include "../core/driver_symbols.inc"
#undef MERCER_DRIVER
}  // namespace mercer::cu

#define MERCER_DRIVER(name, exported, version, required, ...) \
  static_assert(mercer::Same<mercer::cu::name##_declared, decltype(MERCER_HEADER_##name)>::value, #name);
#ifdef MERCER_HEADER_NAMES
#include MERCER_HEADER_NAMES
#include "../core/driver_symbols.inc"
#endif
