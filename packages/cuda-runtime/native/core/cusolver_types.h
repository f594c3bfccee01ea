// cuSOLVER types, declared by hand for its 64-bit interface (checked by check/abi_check_solvers.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::cusolver {

using Status = int;
using Handle = struct cusolverDnContext*;
using Params = struct cusolverDnParams*;

inline constexpr Status kSuccess = 0;

// cudaDataType
inline constexpr int kSingle = 0;
inline constexpr int kDouble = 1;

// cublasFillMode_t, cublasOperation_t, cublasSideMode_t, cusolverEigMode_t
inline constexpr int kLower = 0;
inline constexpr int kUpper = 1;
inline constexpr int kNoTranspose = 0;
inline constexpr int kTranspose = 1;
inline constexpr int kLeft = 0;
inline constexpr int kRight = 1;
inline constexpr int kValuesOnly = 0;
inline constexpr int kVectors = 1;

}  // namespace mercer::cusolver
