// Compares the hand declarations of cuSOLVER, cuBLASLt and cuBLAS with their real headers: compiled by a test
// where they exist, never by the build.
//   c++ -std=c++17 -fsyntax-only -I <toolkit>/include native/check/abi_check_solvers.cc
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cusolverDn.h>

#include <cstddef>

#include "../core/cublas_types.h"
#include "../core/cublaslt_types.h"
#include "../core/cusolver_types.h"
#include "../core/driver_types.h"
#include "same_signature.h"

namespace {

namespace solver = mercer::cusolver;
namespace blas = mercer::cublaslt;
namespace classic = mercer::cublas;

static_assert(solver::kSuccess == CUSOLVER_STATUS_SUCCESS);
static_assert(solver::kSingle == CUDA_R_32F && solver::kDouble == CUDA_R_64F);
static_assert(solver::kLower == CUBLAS_FILL_MODE_LOWER && solver::kUpper == CUBLAS_FILL_MODE_UPPER);
static_assert(solver::kNoTranspose == CUBLAS_OP_N && solver::kTranspose == CUBLAS_OP_T);
static_assert(solver::kLeft == CUBLAS_SIDE_LEFT && solver::kRight == CUBLAS_SIDE_RIGHT);
static_assert(solver::kValuesOnly == CUSOLVER_EIG_MODE_NOVECTOR && solver::kVectors == CUSOLVER_EIG_MODE_VECTOR);

// Names of statuses, which the library itself does not tell.
static_assert(CUSOLVER_STATUS_NOT_INITIALIZED == 1 && CUSOLVER_STATUS_ALLOC_FAILED == 2);
static_assert(CUSOLVER_STATUS_INVALID_VALUE == 3 && CUSOLVER_STATUS_ARCH_MISMATCH == 4);
static_assert(CUSOLVER_STATUS_MAPPING_ERROR == 5 && CUSOLVER_STATUS_EXECUTION_FAILED == 6);
static_assert(CUSOLVER_STATUS_INTERNAL_ERROR == 7 && CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED == 8);
static_assert(CUSOLVER_STATUS_NOT_SUPPORTED == 9 && CUSOLVER_STATUS_ZERO_PIVOT == 10);
static_assert(CUSOLVER_STATUS_INVALID_LICENSE == 11 && CUSOLVER_STATUS_INVALID_WORKSPACE == 31);

static_assert(blas::kSuccess == CUBLAS_STATUS_SUCCESS && blas::kNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(blas::kFloat32 == CUDA_R_32F && blas::kFloat64 == CUDA_R_64F);
static_assert(blas::kFloat16 == CUDA_R_16F && blas::kBfloat16 == CUDA_R_16BF);
static_assert(blas::kCompute32 == CUBLAS_COMPUTE_32F && blas::kComputeTf32 == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(blas::kCompute64 == CUBLAS_COMPUTE_64F);
static_assert(blas::kDescTransposeA == CUBLASLT_MATMUL_DESC_TRANSA);
static_assert(blas::kDescTransposeB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(blas::kLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(blas::kLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(blas::kPreferenceWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(blas::kPreferenceAlignment[0] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(blas::kPreferenceAlignment[1] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
static_assert(blas::kPreferenceAlignment[2] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
static_assert(blas::kPreferenceAlignment[3] == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
static_assert(sizeof(blas::Algorithm) == sizeof(::cublasLtMatmulAlgo_t));
static_assert(sizeof(blas::Heuristic) == sizeof(::cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(blas::Heuristic, workspaceBytes) == offsetof(::cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(blas::Heuristic, state) == offsetof(::cublasLtMatmulHeuristicResult_t, state));

static_assert(classic::kSuccess == CUBLAS_STATUS_SUCCESS && classic::kInvalidValue == CUBLAS_STATUS_INVALID_VALUE);
static_assert(classic::kMajorVersion == MAJOR_VERSION && classic::kMinorVersion == MINOR_VERSION);
static_assert(classic::kPatchLevel == PATCH_LEVEL);
static_assert(classic::kLeft == CUBLAS_SIDE_LEFT && classic::kRight == CUBLAS_SIDE_RIGHT);
static_assert(classic::kLower == CUBLAS_FILL_MODE_LOWER && classic::kUpper == CUBLAS_FILL_MODE_UPPER);
static_assert(classic::kNoTranspose == CUBLAS_OP_N && classic::kTranspose == CUBLAS_OP_T);
static_assert(classic::kNonUnit == CUBLAS_DIAG_NON_UNIT && classic::kUnit == CUBLAS_DIAG_UNIT);

}  // namespace

namespace mercer::cusolver {
#define MERCER_CUSOLVER(name, required, ...) using name##_declared = __VA_ARGS__;
#include "../core/cusolver_symbols.inc"
#undef MERCER_CUSOLVER
}  // namespace mercer::cusolver

namespace mercer::cublaslt {
#define MERCER_CUBLASLT(name, required, ...) using name##_declared = __VA_ARGS__;
#include "../core/cublaslt_symbols.inc"
#undef MERCER_CUBLASLT
}  // namespace mercer::cublaslt

namespace mercer::cublas {
#define MERCER_CUBLAS(name, required, ...) using name##_declared = __VA_ARGS__;
#include "../core/cublas_symbols.inc"
#undef MERCER_CUBLAS
}  // namespace mercer::cublas

#define MERCER_CUSOLVER(name, required, ...) \
  static_assert(mercer::Same<mercer::cusolver::name##_declared, decltype(::name)>::value, #name);
#include "../core/cusolver_symbols.inc"

#define MERCER_CUBLASLT(name, required, ...) \
  static_assert(mercer::Same<mercer::cublaslt::name##_declared, decltype(::name)>::value, #name);
#include "../core/cublaslt_symbols.inc"

#define MERCER_CUBLAS(name, required, ...) \
  static_assert(mercer::Same<mercer::cublas::name##_declared, decltype(::name)>::value, #name);
#include "../core/cublas_symbols.inc"
