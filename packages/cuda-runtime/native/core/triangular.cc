#include "triangular.h"

#include "blas.h"
#include "workspace.h"

namespace mercer {
namespace {

/// alpha in the type of the matrices.
class Scale {
 public:
  Scale(double value, bool wide) : double_(value), single_(static_cast<float>(value)), wide_(wide) {}
  const void* address() const {
    return wide_ ? static_cast<const void*>(&double_) : static_cast<const void*>(&single_);
  }

 private:
  double double_;
  float single_;
  bool wide_;
};

}  // namespace

void triangularSolve(Stream& stream, const TriangularSolve& s, const Region& a, int64_t leadingA, const Region& b,
                     int64_t leadingB, const Scratch& work) {
  const size_t bytes = realBytes(s.type);
  const bool wide = bytes == 8;
  const Scale alpha(s.alpha, wide);
  stream.enter();
  const void* factor = Matrix{a, s.order(), s.order(), leadingA}.on(stream, bytes);
  void* right = Matrix{b, s.rows, s.columns, leadingB}.on(stream, bytes);
  if (s.rows == 0 || s.columns == 0) return;
  const auto& table = cublas::table();
  if (const auto call = wide ? table.cublasDtrsm_v2_64 : table.cublasStrsm_v2_64) {
    const auto handle = stream.blas().workingIn(work, stream);
    const auto status = call(handle, s.side, s.uplo, s.transpose, s.unit, s.rows, s.columns, alpha.address(), factor,
                             leadingA, right, leadingB);
    cublas::check(status, wide ? "cublasDtrsm_v2_64" : "cublasStrsm_v2_64", stream);
  } else {
    checkIntCounts({s.rows, s.columns, leadingA, leadingB});
    const auto narrow = wide ? table.cublasDtrsm_v2 : table.cublasStrsm_v2;
    const auto handle = stream.blas().workingIn(work, stream);
    const auto status = narrow(handle, s.side, s.uplo, s.transpose, s.unit, static_cast<int>(s.rows),
                               static_cast<int>(s.columns), alpha.address(), factor, static_cast<int>(leadingA),
                               right, static_cast<int>(leadingB));
    cublas::check(status, wide ? "cublasDtrsm_v2" : "cublasStrsm_v2", stream);
  }
  stream.launched(nullptr);
}

void triangularSolveBatched(Stream& stream, const TriangularSolve& s, const Region& pointers, int64_t leadingA,
                            const Region& rightPointers, int64_t leadingB, int64_t count, const Scratch& work) {
  const bool wide = realBytes(s.type) == 8;
  const Scale alpha(s.alpha, wide);
  checkIntCounts({s.rows, s.columns, leadingA, leadingB, count});
  checkLeading(leadingA, s.order());
  checkLeading(leadingB, s.rows);
  stream.enter();
  const auto* factors = static_cast<const void* const*>(pointers.on(stream, count * kAddressBytes));
  auto* const* rights = static_cast<void* const*>(rightPointers.on(stream, count * kAddressBytes));
  if (s.rows == 0 || s.columns == 0 || count == 0) return;
  const auto& table = cublas::table();
  const auto call = wide ? table.cublasDtrsmBatched : table.cublasStrsmBatched;
  const auto handle = stream.blas().workingIn(work, stream);
  const auto status = call(handle, s.side, s.uplo, s.transpose, s.unit, static_cast<int>(s.rows),
                           static_cast<int>(s.columns), alpha.address(), factors, static_cast<int>(leadingA), rights,
                           static_cast<int>(leadingB), static_cast<int>(count));
  cublas::check(status, wide ? "cublasDtrsmBatched" : "cublasStrsmBatched", stream);
  stream.launched(nullptr);
}

}  // namespace mercer
