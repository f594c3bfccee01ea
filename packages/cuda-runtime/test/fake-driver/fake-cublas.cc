// A fake cuBLAS of any major (-DFAKE_MAJOR=13) that computes on the fake driver's streams and memory. One of
// CUDA 12 has no 64-bit calls. A call for 13 right-hand sides says that its argument 4 is wrong. Without
// memory given for it no call can be captured: the real library would add nodes that allocate.
#include <cmath>
#include <utility>

#include "calls.h"
#include "elements.h"
#include "state.h"

using namespace fake;

namespace {

struct Handle {
  Stream* stream = nullptr;
  char* workspace = nullptr;
  size_t bytes = 0;
};

/// Enqueues `task`, which first writes both ends of the workspace.
int enqueue(Handle* handle, Task task) {
  if (handle->stream->capture && !handle->workspace) return 14;
  handle->stream->add([workspace = handle->workspace, bytes = handle->bytes, task = std::move(task)] {
    if (workspace) workspace[0] = workspace[bytes - 1] = 1;
    task();
  });
  return 0;
}

struct Triangle {
  int type, side, uplo, transpose, unit;
  int64_t rows, columns;
  double alpha;
};

/// Solves t x = alpha b, where t is op(a), or its transpose with x and b transposed for the right side.
void solve(const Triangle& s, Elements a, int64_t lda, Elements b, int64_t ldb) {
  const bool right = s.side == 1, flipped = (s.transpose != 0) != right;
  const int64_t n = right ? s.columns : s.rows, count = right ? s.rows : s.columns;
  const auto t = [&](int64_t i, int64_t k) { return a.get(flipped ? k + i * lda : i + k * lda); };
  const auto at = [&](int64_t i, int64_t c) { return right ? c + i * ldb : i + c * ldb; };
  substitute(n, count, (s.uplo == 0) != flipped, s.unit, s.alpha, t, b, at);
}

int factor(Elements a, int64_t n, int64_t ld, int* pivots) {
  int info = 0;
  std::vector<double> scales(n);
  for (int64_t j = 0; j < n; j++) {
    int64_t best = j;
    for (int64_t i = j + 1; pivots && i < n; i++)
      if (std::fabs(a.get(i + j * ld)) > std::fabs(a.get(best + j * ld))) best = i;
    if (pivots) pivots[j] = static_cast<int>(best + 1);
    for (int64_t k = 0; best != j && k < n; k++) {
      const double upper = a.get(j + k * ld);
      a.set(j + k * ld, a.get(best + k * ld));
      a.set(best + k * ld, upper);
    }
    if (a.get(j + j * ld) == 0) {
      if (!info) info = static_cast<int>(j + 1);
      continue;
    }
    for (int64_t i = j + 1; i < n; i++) {
      scales[i] = a.get(i + j * ld) / a.get(j + j * ld);
      a.set(i + j * ld, scales[i]);
    }
    for (int64_t k = j + 1; k < n; k++) {
      const double upper = a.get(j + k * ld);
      for (int64_t i = j + 1; i < n; i++) a.set(i + k * ld, a.get(i + k * ld) - scales[i] * upper);
    }
  }
  return info;
}

void exchange(Elements b, int64_t i, int64_t j, int64_t columns, int64_t ldb) {
  for (int64_t c = 0; i != j && c < columns; c++) {
    const double kept = b.get(i + c * ldb);
    b.set(i + c * ldb, b.get(j + c * ldb));
    b.set(j + c * ldb, kept);
  }
}

void solveFactored(int type, int transpose, int64_t n, int64_t columns, const void* a, int64_t lda, const int* pivots,
                   void* b, int64_t ldb) {
  const Elements factors = elements(type, a), right = elements(type, b);
  const Triangle lower{type, 0, 0, transpose, 1, n, columns, 1}, upper{type, 0, 1, transpose, 0, n, columns, 1};
  if (!transpose)
    for (int64_t i = 0; pivots && i < n; i++) exchange(right, i, pivots[i] - 1, columns, ldb);
  solve(transpose ? upper : lower, factors, lda, right, ldb);
  solve(transpose ? lower : upper, factors, lda, right, ldb);
  if (transpose)
    for (int64_t i = n - 1; pivots && i >= 0; i--) exchange(right, i, pivots[i] - 1, columns, ldb);
}

double scaleOf(int type, const void* alpha) { return elements(type, alpha).get(0); }

int solveOne(const char* name, Handle* handle, const Triangle& s, const void* a, int64_t lda, void* b, int64_t ldb) {
  if (const int status =
          called(name, s.side, s.uplo, s.transpose, s.unit, s.rows, s.columns, s.alpha, lda, ldb, handle->bytes))
    return status;
  return enqueue(handle, [=] { solve(s, elements(s.type, a), lda, elements(s.type, b), ldb); });
}

int solveMany(const char* name, Handle* handle, const Triangle& s, const void* const* a, int64_t lda, void* const* b,
              int64_t ldb, int count) {
  if (const int status = called(name, s.side, s.uplo, s.transpose, s.unit, s.rows, s.columns, s.alpha, lda, ldb, count))
    return status;
  return enqueue(handle, [=] {
    for (int i = 0; i < count; i++) solve(s, elements(s.type, a[i]), lda, elements(s.type, b[i]), ldb);
  });
}

int factorMany(const char* name, int type, Handle* handle, int n, void* const* a, int lda, int* pivots, int* infos,
               int count) {
  if (const int status = called(name, n, lda, pivots ? "pivots" : "none", count)) return status;
  return enqueue(handle, [=] {
    for (int i = 0; i < count; i++)
      infos[i] = factor(elements(type, a[i]), n, lda, pivots ? pivots + int64_t{i} * n : nullptr);
  });
}

int solveFactoredMany(const char* name, int type, Handle* handle, int transpose, int n, int columns,
                      const void* const* a, int lda, const int* pivots, void* const* b, int ldb, int* info,
                      int count) {
  *info = columns == 13 ? -4 : 0;
  if (const int status = called(name, transpose, n, columns, lda, pivots ? "pivots" : "none", ldb, count))
    return status;
  if (*info) return 0;
  return enqueue(handle, [=] {
    for (int i = 0; i < count; i++)
      solveFactored(type, transpose, n, columns, a[i], lda, pivots ? pivots + int64_t{i} * n : nullptr, b[i], ldb);
  });
}

}  // namespace

FAKE cublasGetProperty(int property, int* value) {
  *value = property == 0 ? FAKE_MAJOR : 1;
  return 0;
}

extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusName(int status) {
  return status == 7 ? "CUBLAS_STATUS_INVALID_VALUE" : status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS_OTHER";
}

extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusString(int) {
  return "a status of the fake library";
}

FAKE cublasCreate_v2(Handle** handle) {
  if (const int status = called("blasCreate")) return status;
  *handle = new Handle;
  return 0;
}

FAKE cublasDestroy_v2(Handle* handle) {
  delete handle;
  return called("blasDestroy");
}

FAKE cublasSetStream_v2(Handle* handle, Stream* stream) {
  *handle = {stream};
  return called("blasSetStream");
}

FAKE cublasSetWorkspace_v2(Handle* handle, void* workspace, size_t bytes) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256) return 7;
  handle->workspace = static_cast<char*>(workspace);
  handle->bytes = bytes;
  return called("blasSetWorkspace", bytes);
}

FAKE cublasStrsm_v2(Handle* handle, int side, int uplo, int transpose, int unit, int m, int n, const float* alpha,
                    const void* a, int lda, void* b, int ldb) {
  return solveOne("strsm", handle, {0, side, uplo, transpose, unit, m, n, scaleOf(0, alpha)}, a, lda, b, ldb);
}

FAKE cublasDtrsm_v2(Handle* handle, int side, int uplo, int transpose, int unit, int m, int n, const double* alpha,
                    const void* a, int lda, void* b, int ldb) {
  return solveOne("dtrsm", handle, {1, side, uplo, transpose, unit, m, n, scaleOf(1, alpha)}, a, lda, b, ldb);
}

#if FAKE_MAJOR > 12
FAKE cublasStrsm_v2_64(Handle* handle, int side, int uplo, int transpose, int unit, int64_t m, int64_t n,
                       const float* alpha, const void* a, int64_t lda, void* b, int64_t ldb) {
  return solveOne("strsm_64", handle, {0, side, uplo, transpose, unit, m, n, scaleOf(0, alpha)}, a, lda, b, ldb);
}

FAKE cublasDtrsm_v2_64(Handle* handle, int side, int uplo, int transpose, int unit, int64_t m, int64_t n,
                       const double* alpha, const void* a, int64_t lda, void* b, int64_t ldb) {
  return solveOne("dtrsm_64", handle, {1, side, uplo, transpose, unit, m, n, scaleOf(1, alpha)}, a, lda, b, ldb);
}
#endif

FAKE cublasStrsmBatched(Handle* handle, int side, int uplo, int transpose, int unit, int m, int n, const float* alpha,
                        const void* const* a, int lda, void* const* b, int ldb, int count) {
  const Triangle s{0, side, uplo, transpose, unit, m, n, scaleOf(0, alpha)};
  return solveMany("strsmBatched", handle, s, a, lda, b, ldb, count);
}

FAKE cublasDtrsmBatched(Handle* handle, int side, int uplo, int transpose, int unit, int m, int n,
                        const double* alpha, const void* const* a, int lda, void* const* b, int ldb, int count) {
  const Triangle s{1, side, uplo, transpose, unit, m, n, scaleOf(1, alpha)};
  return solveMany("dtrsmBatched", handle, s, a, lda, b, ldb, count);
}

FAKE cublasSgetrfBatched(Handle* handle, int n, void* const* a, int lda, int* pivots, int* infos, int count) {
  return factorMany("sgetrfBatched", 0, handle, n, a, lda, pivots, infos, count);
}

FAKE cublasDgetrfBatched(Handle* handle, int n, void* const* a, int lda, int* pivots, int* infos, int count) {
  return factorMany("dgetrfBatched", 1, handle, n, a, lda, pivots, infos, count);
}

FAKE cublasSgetrsBatched(Handle* handle, int transpose, int n, int columns, const void* const* a, int lda,
                         const int* pivots, void* const* b, int ldb, int* info, int count) {
  return solveFactoredMany("sgetrsBatched", 0, handle, transpose, n, columns, a, lda, pivots, b, ldb, info, count);
}

FAKE cublasDgetrsBatched(Handle* handle, int transpose, int n, int columns, const void* const* a, int lda,
                         const int* pivots, void* const* b, int ldb, int* info, int count) {
  return solveFactoredMany("dgetrsBatched", 1, handle, transpose, n, columns, a, lda, pivots, b, ldb, info, count);
}
