// Matrix products through cuBLASLt, which only enqueue.
#pragma once

#include "operand.h"

namespace mercer {

/// d = alpha op(a) op(b) + beta c for `batch` matrices, column-major. c may be d, and is not read when
/// beta is 0. Types are cudaDataType, `compute` is cublasComputeType_t; alpha and beta are rounded to
/// what it computes in.
struct Product {
  int inputType = 0, outputType = 0, compute = 0;
  int transposeA = 0, transposeB = 0;
  int64_t m = 0, n = 0, k = 0;
  double alpha = 1, beta = 0;
  Region a, b, c, d;
  int64_t leadingA = 0, leadingB = 0, leadingC = 0, leadingD = 0;
  int64_t batch = 1;
  int64_t strideA = 0, strideB = 0, strideC = 0, strideD = 0;  // elements; 0 repeats one operand
};

/// Descriptors, layouts and the algorithm of a problem are kept for each device, up to some hundred.
/// Throws a Cublas failure NOT_SUPPORTED where the library knows no algorithm.
void multiply(Stream& stream, const Product& product, const Scratch& scratch);

}  // namespace mercer
