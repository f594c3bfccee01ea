// Compares the hand declarations of NCCL with its real header: compiled by a test where that exists, never by the build.
//   c++ -std=c++17 -fsyntax-only -I <NCCL>/include -I <toolkit>/include native/check/abi_check_nccl.cc
#include <nccl.h>

#include <cstddef>

#include "../core/driver_types.h"
#include "../core/nccl_types.h"
#include "same_signature.h"

namespace {

namespace own = mercer::nccl;

static_assert(own::kSuccess == ncclSuccess && own::kInProgress == ncclInProgress);
// Names of results, which the library itself does not tell.
static_assert(ncclUnhandledCudaError == 1 && ncclSystemError == 2 && ncclInternalError == 3);
static_assert(ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6);
static_assert(own::kInt8 == ncclInt8 && own::kUint8 == ncclUint8 && own::kInt32 == ncclInt32);
static_assert(own::kUint32 == ncclUint32 && own::kInt64 == ncclInt64 && own::kUint64 == ncclUint64);
static_assert(own::kFloat16 == ncclFloat16 && own::kFloat32 == ncclFloat32 && own::kFloat64 == ncclFloat64);
static_assert(own::kBfloat16 == ncclBfloat16);
static_assert(own::kSum == ncclSum && own::kProd == ncclProd && own::kMax == ncclMax && own::kMin == ncclMin);
static_assert(own::kAvg == ncclAvg);
static_assert(sizeof(own::UniqueId) == sizeof(ncclUniqueId));
static_assert(offsetof(own::Config, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(own::Config, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(own::Config, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(own::Config, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(sizeof(own::Config) <= sizeof(ncclConfig_t));

}  // namespace

namespace mercer::nccl {
#define MERCER_NCCL(name, required, ...) using name##_declared = __VA_ARGS__;
#include "../core/nccl_symbols.inc"
#undef MERCER_NCCL
}  // namespace mercer::nccl

#define MERCER_NCCL(name, required, ...) \
  static_assert(mercer::Same<mercer::nccl::name##_declared, decltype(::name)>::value, #name);
#include "../core/nccl_symbols.inc"
