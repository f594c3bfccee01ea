#include "product_plan.h"

namespace mercer {
namespace {

using namespace cublaslt;

constexpr size_t kMostPlans = 512;

/// Largest power of two up to 256 that divides an address; a null pointer fits any.
uint32_t alignmentOf(const void* address) {
  const auto bits = reinterpret_cast<uintptr_t>(address) | 256;
  return static_cast<uint32_t>(bits & (~bits + 1));
}

struct Shape {
  int type;
  int64_t rows, columns, leading, stride;
};

std::array<Shape, 4> shapesOf(const Product& p) {
  const int64_t rowsA = p.transposeA ? p.k : p.m, columnsA = p.transposeA ? p.m : p.k;
  const int64_t rowsB = p.transposeB ? p.n : p.k, columnsB = p.transposeB ? p.k : p.n;
  return {{{p.inputType, rowsA, columnsA, p.leadingA, p.strideA},
           {p.inputType, rowsB, columnsB, p.leadingB, p.strideB},
           {p.outputType, p.m, p.n, p.leadingC, p.strideC},
           {p.outputType, p.m, p.n, p.leadingD, p.strideD}}};
}

}  // namespace

ProductPlan::ProductPlan(Stream& stream, Handle handle, const Product& p, const std::array<uint32_t, 4>& alignment,
                         uint64_t workspaceBytes) {
  try {
    const int scale = p.compute == kCompute64 ? kFloat64 : kFloat32;
    MERCER_CUBLASLT_CALL(stream, cublasLtMatmulDescCreate, &desc_, p.compute, scale);
    MERCER_CUBLASLT_CALL(stream, cublasLtMatmulDescSetAttribute, desc_, kDescTransposeA, &p.transposeA, sizeof(int));
    MERCER_CUBLASLT_CALL(stream, cublasLtMatmulDescSetAttribute, desc_, kDescTransposeB, &p.transposeB, sizeof(int));
    const auto shapes = shapesOf(p);
    const auto batch = static_cast<int32_t>(p.batch);
    for (size_t i = 0; i < shapes.size(); i++) {
      const Shape& s = shapes[i];
      MERCER_CUBLASLT_CALL(stream, cublasLtMatrixLayoutCreate, &layouts_[i], s.type, s.rows, s.columns, s.leading);
      MERCER_CUBLASLT_CALL(stream, cublasLtMatrixLayoutSetAttribute, layouts_[i], kLayoutBatchCount, &batch,
                           sizeof batch);
      MERCER_CUBLASLT_CALL(stream, cublasLtMatrixLayoutSetAttribute, layouts_[i], kLayoutBatchStride, &s.stride,
                           sizeof s.stride);
    }
    choose(stream, handle, alignment, workspaceBytes);
  } catch (...) {
    release();
    throw;
  }
}

void ProductPlan::choose(Stream& stream, Handle handle, const std::array<uint32_t, 4>& alignment,
                         uint64_t workspaceBytes) {
  Preference raw = nullptr;
  MERCER_CUBLASLT_CALL(stream, cublasLtMatmulPreferenceCreate, &raw);
  const std::shared_ptr<cublasLtMatmulPreferenceOpaque> preference(
      raw, [](Preference p) { table().cublasLtMatmulPreferenceDestroy(p); });
  MERCER_CUBLASLT_CALL(stream, cublasLtMatmulPreferenceSetAttribute, raw, kPreferenceWorkspace, &workspaceBytes,
                       sizeof workspaceBytes);
  for (size_t i = 0; i < alignment.size(); i++)
    MERCER_CUBLASLT_CALL(stream, cublasLtMatmulPreferenceSetAttribute, raw, kPreferenceAlignment[i], &alignment[i],
                         sizeof alignment[i]);
  Heuristic best{};
  int found = 0;
  MERCER_CUBLASLT_CALL(stream, cublasLtMatmulAlgoGetHeuristic, handle, desc_, layouts_[0], layouts_[1], layouts_[2],
                       layouts_[3], raw, 1, &best, &found);
  check(found > 0 ? best.state : kNotSupported, "cublasLtMatmulAlgoGetHeuristic", stream);
  algorithm_ = best.algorithm;
}

ProductPlan::~ProductPlan() { release(); }

void ProductPlan::release() noexcept {
  for (auto layout : layouts_)
    if (layout) table().cublasLtMatrixLayoutDestroy(layout);
  if (desc_) table().cublasLtMatmulDescDestroy(desc_);
}

void ProductPlan::enqueue(Stream& stream, Handle handle, const Product& p, const ProductMemory& m, void* workspace,
                          uint64_t workspaceBytes) const {
  const float single[2] = {static_cast<float>(p.alpha), static_cast<float>(p.beta)};
  const bool wide = p.compute == kCompute64;
  const void* alpha = wide ? static_cast<const void*>(&p.alpha) : &single[0];
  const void* beta = wide ? static_cast<const void*>(&p.beta) : &single[1];
  MERCER_CUBLASLT_CALL(stream, cublasLtMatmul, handle, desc_, alpha, m.a, layouts_[0], m.b, layouts_[1], beta, m.c,
                       layouts_[2], m.d, layouts_[3], &algorithm_, workspace, workspaceBytes, stream.handle());
}

ProductPlans& ProductPlans::of(Device& device) {
  static auto* mutex = new std::mutex;
  static auto* all = new std::map<int, ProductPlans*>;
  std::lock_guard lock(*mutex);
  auto& slot = (*all)[device.ordinal];
  if (!slot) slot = new ProductPlans;
  return *slot;
}

Handle ProductPlans::handle(Stream& stream) {
  std::lock_guard lock(handleMutex_);
  if (!handle_) {
    stream.refuseCapture("making the cuBLASLt handle");
    MERCER_CUBLASLT_CALL(stream, cublasLtCreate, &handle_);
  }
  return handle_;
}

std::shared_ptr<const ProductPlan> ProductPlans::find(Stream& stream, const Product& p, const ProductMemory& m,
                                                      uint64_t workspaceBytes) {
  const std::array<uint32_t, 4> alignment{alignmentOf(m.a), alignmentOf(m.b), alignmentOf(m.c), alignmentOf(m.d)};
  const Key key{p.inputType, p.outputType, p.compute,    p.transposeA, p.transposeB, p.m,
                p.n,         p.k,          p.leadingA,   p.leadingB,   p.leadingC,   p.leadingD,
                p.batch,     p.strideA,    p.strideB,    p.strideC,    p.strideD,    alignment[0],
                alignment[1], alignment[2], alignment[3], static_cast<int64_t>(workspaceBytes)};
  {
    std::lock_guard lock(mutex_);
    const auto known = plans_.find(key);
    if (known != plans_.end()) return known->second;
  }
  // Without the lock: two threads may both ask, and the first answer is kept.
  auto plan = std::make_shared<const ProductPlan>(stream, handle(stream), p, alignment, workspaceBytes);
  std::lock_guard lock(mutex_);
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.emplace(key, std::move(plan)).first->second;
}

}  // namespace mercer
