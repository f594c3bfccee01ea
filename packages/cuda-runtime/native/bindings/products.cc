#include "../core/matmul.h"
#include "operands.h"

namespace mercer {

namespace {

// (stream, inputType, outputType, compute, transposeA, transposeB, m, n, k, batch, alpha, beta,
//  then for a, b, c, d: buffer, offset, leading, stride; then work?, offset, bytes)
Napi::Value matmul(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  Product p;
  p.inputType = take.choice();
  p.outputType = take.choice();
  p.compute = take.choice();
  p.transposeA = take.choice() != 0;
  p.transposeB = take.choice() != 0;
  p.m = take.count();
  p.n = take.count();
  p.k = take.count();
  p.batch = take.count();
  p.alpha = take.number();
  p.beta = take.number();
  p.a = take.region();
  p.leadingA = take.count();
  p.strideA = take.count();
  p.b = take.region();
  p.leadingB = take.count();
  p.strideB = take.count();
  p.c = take.region();
  p.leadingC = take.count();
  p.strideC = take.count();
  p.d = take.region();
  p.leadingD = take.count();
  p.strideD = take.count();
  multiply(unwrap<Stream>(info[0]), p, take.scratch());
  return info.Env().Undefined();
}

}  // namespace

void exportProducts(Napi::Object exports) { method<matmul>(exports, "matmul"); }

}  // namespace mercer
