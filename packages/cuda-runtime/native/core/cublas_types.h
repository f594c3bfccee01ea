// cuBLAS types, declared by hand for CUDA 12 and 13 (checked by check/abi_check_solvers.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::cublas {

using Status = int;
using Handle = struct cublasContext*;

inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 7;

// libraryPropertyType
inline constexpr int kMajorVersion = 0;
inline constexpr int kMinorVersion = 1;
inline constexpr int kPatchLevel = 2;

// cublasSideMode_t, cublasFillMode_t, cublasOperation_t, cublasDiagType_t
inline constexpr int kLeft = 0;
inline constexpr int kRight = 1;
inline constexpr int kLower = 0;
inline constexpr int kUpper = 1;
inline constexpr int kNoTranspose = 0;
inline constexpr int kTranspose = 1;
inline constexpr int kNonUnit = 0;
inline constexpr int kUnit = 1;

}  // namespace mercer::cublas
