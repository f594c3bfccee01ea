#include "matmul.h"

#include <limits>

#include "product_plan.h"

namespace mercer {
namespace {

size_t bytesOfType(int type) {
  switch (type) {
    case cublaslt::kFloat32:
      return 4;
    case cublaslt::kFloat64:
      return 8;
    case cublaslt::kFloat16:
    case cublaslt::kBfloat16:
      return 2;
    default:
      misuse("INVALID_ARGUMENT", "a product takes float64, float32, float16 or bfloat16, not cudaDataType " +
                                     std::to_string(type));
  }
}

ProductMemory memoryOf(Stream& stream, const Product& p) {
  const size_t in = bytesOfType(p.inputType), out = bytesOfType(p.outputType);
  const auto on = [&](const Region& region, int64_t rows, int64_t columns, int64_t leading, size_t bytes,
                      int64_t stride) {
    return batchOn(stream, {region, rows, columns, leading}, bytes, p.batch, stride);
  };
  ProductMemory memory{};
  memory.a = on(p.a, p.transposeA ? p.k : p.m, p.transposeA ? p.m : p.k, p.leadingA, in, p.strideA);
  memory.b = on(p.b, p.transposeB ? p.n : p.k, p.transposeB ? p.k : p.n, p.leadingB, in, p.strideB);
  memory.d = on(p.d, p.m, p.n, p.leadingD, out, p.strideD);
  memory.c = on(p.c, p.m, p.n, p.leadingC, out, p.strideC);
  return memory;
}

}  // namespace

void multiply(Stream& stream, const Product& p, const Scratch& scratch) {
  checkCounts({p.batch}, std::numeric_limits<int32_t>::max());
  stream.enter();
  const ProductMemory memory = memoryOf(stream, p);
  void* workspace = scratch.region.on(stream, scratch.bytes);
  if (p.m == 0 || p.n == 0 || p.batch == 0) return;
  auto& plans = ProductPlans::of(stream.use->device);
  plans.find(stream, p, memory, scratch.bytes)
      ->enqueue(stream, plans.handle(stream), p, memory, workspace, scratch.bytes);
  stream.launched(nullptr);
}

}  // namespace mercer
