// cuBLASLt types, declared by hand for CUDA 12 and 13 (checked by check/abi_check_solvers.cc).
#pragma once

#include <cstddef>
#include <cstdint>

namespace mercer::cublaslt {

using Status = int;
using Handle = struct cublasLtContext*;
using MatmulDesc = struct cublasLtMatmulDescOpaque*;
using MatrixLayout = struct cublasLtMatrixLayoutOpaque*;
using Preference = struct cublasLtMatmulPreferenceOpaque*;

inline constexpr Status kSuccess = 0;
inline constexpr Status kNotSupported = 15;

// cudaDataType
inline constexpr int kFloat32 = 0;
inline constexpr int kFloat64 = 1;
inline constexpr int kFloat16 = 2;
inline constexpr int kBfloat16 = 14;

// cublasComputeType_t
inline constexpr int kCompute32 = 68;
inline constexpr int kComputeTf32 = 77;
inline constexpr int kCompute64 = 70;

// Attributes
inline constexpr int kDescTransposeA = 3;
inline constexpr int kDescTransposeB = 4;
inline constexpr int kLayoutBatchCount = 5;
inline constexpr int kLayoutBatchStride = 6;
inline constexpr int kPreferenceWorkspace = 1;
inline constexpr int kPreferenceAlignment[4] = {5, 6, 7, 8};  // of A, B, C, D

struct Algorithm {
  uint64_t data[8];
};

struct Heuristic {
  Algorithm algorithm;
  size_t workspaceBytes;
  Status state;
  float waves;
  int reserved[4];
};

}  // namespace mercer::cublaslt
