// A fake cuSOLVER of any major (-DFAKE_MAJOR=12) on the fake driver's streams and memory. Cholesky
// factors and solves are computed; the others write what a test can recognise. MERCER_FAKE_SOLVER_US
// is how long a call that waits takes, MERCER_FAKE_HOST_BYTES the host workspace of every call.
#include <algorithm>
#include <cmath>

#include "calls.h"
#include "elements.h"
#include "state.h"

using namespace fake;

namespace {

struct Handle {
  Stream* stream = nullptr;
};

constexpr size_t kDeviceBytes = 64;

int sizes(size_t* device, size_t* host) {
  *device = kDeviceBytes;
  *host = static_cast<size_t>(setting("HOST_BYTES", 0));
  return 0;
}

/// Places of the lower factor in either triangle.
auto placed(int uplo, int64_t ld) {
  return [=](int64_t i, int64_t j) { return uplo == 0 ? i + j * ld : j + i * ld; };
}

int factor(Elements a, int uplo, int64_t n, int64_t ld) {
  const auto at = placed(uplo, ld);
  // what is left of the matrix, column by column, and the column of the factor that is taken from it
  std::vector<double> left(n * n), column(n);
  for (int64_t j = 0; j < n; j++)
    for (int64_t i = j; i < n; i++) left[i + j * n] = a.get(at(i, j));
  for (int64_t j = 0; j < n; j++) {
    const double pivot = left[j + j * n];
    if (!(pivot > 0)) return static_cast<int>(j + 1);
    a.set(at(j, j), std::sqrt(pivot));
    for (int64_t i = j + 1; i < n; i++) {
      a.set(at(i, j), left[i + j * n] / a.get(at(j, j)));
      column[i] = a.get(at(i, j));
    }
    for (int64_t k = j + 1; k < n; k++)
      for (int64_t i = k; i < n; i++) left[i + k * n] -= column[i] * column[k];
  }
  return 0;
}

void solve(Elements a, int uplo, int64_t n, int64_t lda, Elements b, int64_t columns, int64_t ldb) {
  const auto lower = placed(uplo, lda);
  const auto at = [&](int64_t i, int64_t c) { return i + c * ldb; };
  substitute(n, columns, true, false, 1, [&](int64_t i, int64_t k) { return a.get(lower(i, k)); }, b, at);
  substitute(n, columns, false, false, 1, [&](int64_t i, int64_t k) { return a.get(lower(k, i)); }, b, at);
}

/// Writes the whole of both workspaces, so that a short one is seen by a sanitizer.
void use(void* device, size_t deviceBytes, void* host, size_t hostBytes) {
  if (deviceBytes) std::memset(device, 1, deviceBytes);
  if (hostBytes) std::memset(host, 1, hostBytes);
}

/// What a call does that waits for its results, as the real ones do.
int waiting(Handle* handle, Task task) {
  if (handle->stream->capture) return 7;
  handle->stream->drain();
  std::this_thread::sleep_for(std::chrono::microseconds(setting("SOLVER_US", 0)));
  handle->stream->add(std::move(task));
  handle->stream->drain();
  return 0;
}

}  // namespace

FAKE cusolverGetVersion(int* version) {
  *version = FAKE_MAJOR * 1000 + 4;
  return 0;
}

FAKE cusolverDnCreate(Handle** handle) {
  if (const int status = called("create")) return status;
  *handle = new Handle;
  return 0;
}

FAKE cusolverDnDestroy(Handle* handle) {
  delete handle;
  return called("destroy");
}

FAKE cusolverDnSetStream(Handle* handle, Stream* stream) {
  handle->stream = stream;
  return called("cusolverDnSetStream");
}

FAKE cusolverDnCreateParams(int** params) {
  *params = new int(7);
  return called("createParams");
}

FAKE cusolverDnDestroyParams(int* params) {
  delete params;
  return called("destroyParams");
}

FAKE cusolverDnXpotrf_bufferSize(Handle*, int*, int uplo, int64_t n, int type, const void*, int64_t lda, int,
                                 size_t* device, size_t* host) {
  if (const int status = called("potrf_bufferSize", uplo, n, type, lda)) return status;
  return sizes(device, host);
}

FAKE cusolverDnXpotrf(Handle* handle, int* params, int uplo, int64_t n, int type, void* a, int64_t lda, int compute,
                      void* work, size_t bytes, void* host, size_t hostBytes, int* info) {
  if (const int status = called("potrf", *params, uplo, n, type, lda, compute, bytes, hostBytes)) return status;
  handle->stream->add([=] {
    use(work, bytes, host, hostBytes);
    *info = factor(elements(type, a), uplo, n, lda);
  });
  return 0;
}

FAKE cusolverDnXpotrs(Handle* handle, int* params, int uplo, int64_t n, int64_t columns, int type, const void* a,
                      int64_t lda, int typeB, void* b, int64_t ldb, int* info) {
  if (const int status = called("potrs", *params, uplo, n, columns, type, lda, typeB, ldb)) return status;
  handle->stream->add([=] {
    solve(elements(type, a), uplo, n, lda, elements(type, b), columns, ldb);
    *info = 0;
  });
  return 0;
}

static int batchedFactor(const char* name, int type, Handle* handle, int uplo, int n, void** a, int lda, int* infos,
                         int count) {
  if (const int status = called(name, uplo, n, lda, count)) return status;
  handle->stream->add([=] {
    for (int i = 0; i < count; i++) infos[i] = factor(elements(type, a[i]), uplo, n, lda);
  });
  return 0;
}

FAKE cusolverDnSpotrfBatched(Handle* handle, int uplo, int n, void** a, int lda, int* infos, int count) {
  return batchedFactor("spotrfBatched", 0, handle, uplo, n, a, lda, infos, count);
}

FAKE cusolverDnDpotrfBatched(Handle* handle, int uplo, int n, void** a, int lda, int* infos, int count) {
  return batchedFactor("dpotrfBatched", 1, handle, uplo, n, a, lda, infos, count);
}

static int batchedSolve(const char* name, int type, Handle* handle, int uplo, int n, int columns, void** a, int lda,
                        void** b, int ldb, int* info, int count) {
  if (const int status = called(name, uplo, n, columns, lda, ldb, count)) return status;
  handle->stream->add([=] {
    for (int i = 0; i < count; i++) solve(elements(type, a[i]), uplo, n, lda, elements(type, b[i]), 1, ldb);
    *info = 0;
  });
  return 0;
}

FAKE cusolverDnSpotrsBatched(Handle* handle, int uplo, int n, int columns, void** a, int lda, void** b, int ldb,
                             int* info, int count) {
  return batchedSolve("spotrsBatched", 0, handle, uplo, n, columns, a, lda, b, ldb, info, count);
}

FAKE cusolverDnDpotrsBatched(Handle* handle, int uplo, int n, int columns, void** a, int lda, void** b, int ldb,
                             int* info, int count) {
  return batchedSolve("dpotrsBatched", 1, handle, uplo, n, columns, a, lda, b, ldb, info, count);
}

FAKE cusolverDnXgetrf_bufferSize(Handle*, int*, int64_t m, int64_t n, int type, const void*, int64_t lda, int,
                                 size_t* device, size_t* host) {
  if (const int status = called("getrf_bufferSize", m, n, type, lda)) return status;
  return sizes(device, host);
}

// Every pivot is 40 and more, if pivots are asked for.
FAKE cusolverDnXgetrf(Handle* handle, int*, int64_t m, int64_t n, int type, void*, int64_t lda, int64_t* pivots,
                      int compute, void* work, size_t bytes, void* host, size_t hostBytes, int* info) {
  if (const int status = called("getrf", m, n, type, lda, pivots ? "pivots" : "none", compute, bytes, hostBytes))
    return status;
  handle->stream->add([=] {
    use(work, bytes, host, hostBytes);
    for (int64_t i = 0; pivots && i < std::min(m, n); i++) pivots[i] = 40 + i;
    *info = 2;
  });
  return 0;
}

FAKE cusolverDnXgetrs(Handle* handle, int*, int transpose, int64_t n, int64_t columns, int type, const void*,
                      int64_t lda, const int64_t* pivots, int typeB, void*, int64_t ldb, int* info) {
  if (const int status =
          called("getrs", transpose, n, columns, type, lda, pivots ? "pivots" : "none", typeB, ldb))
    return status;
  handle->stream->add([=] { *info = pivots ? static_cast<int>(pivots[0]) : 0; });
  return 0;
}

FAKE cusolverDnSgetrf_bufferSize(Handle*, int m, int n, void*, int lda, int* count) {
  *count = static_cast<int>(setting("LU_ELEMENTS", 20));
  return called("sgetrf_bufferSize", m, n, lda);
}

FAKE cusolverDnDgetrf_bufferSize(Handle*, int m, int n, void*, int lda, int* count) {
  *count = static_cast<int>(setting("LU_ELEMENTS", 20));
  return called("dgetrf_bufferSize", m, n, lda);
}

// Every pivot is 60 and more, if pivots are asked for.
static int intLu(const char* name, Handle* handle, int m, int n, int lda, void* work, size_t bytes, int* pivots,
                 int* info) {
  if (const int status = called(name, m, n, lda, pivots ? "pivots" : "none")) return status;
  handle->stream->add([=] {
    use(work, 20 * bytes, nullptr, 0);
    for (int i = 0; pivots && i < std::min(m, n); i++) pivots[i] = 60 + i;
    *info = 3;
  });
  return 0;
}

FAKE cusolverDnSgetrf(Handle* handle, int m, int n, void*, int lda, void* work, int* pivots, int* info) {
  return intLu("sgetrf", handle, m, n, lda, work, 4, pivots, info);
}

FAKE cusolverDnDgetrf(Handle* handle, int m, int n, void*, int lda, void* work, int* pivots, int* info) {
  return intLu("dgetrf", handle, m, n, lda, work, 8, pivots, info);
}

// The info is the last pivot, which shows their width.
static int intLuSolve(const char* name, Handle* handle, int transpose, int n, int columns, int lda, const int* pivots,
                      int ldb, int* info) {
  if (const int status = called(name, transpose, n, columns, lda, pivots ? "pivots" : "none", ldb)) return status;
  handle->stream->add([=] { *info = pivots && n > 0 ? pivots[n - 1] : 0; });
  return 0;
}

FAKE cusolverDnSgetrs(Handle* handle, int transpose, int n, int columns, const void*, int lda, const int* pivots,
                      void*, int ldb, int* info) {
  return intLuSolve("sgetrs", handle, transpose, n, columns, lda, pivots, ldb, info);
}

FAKE cusolverDnDgetrs(Handle* handle, int transpose, int n, int columns, const void*, int lda, const int* pivots,
                      void*, int ldb, int* info) {
  return intLuSolve("dgetrs", handle, transpose, n, columns, lda, pivots, ldb, info);
}

FAKE cusolverDnXgeqrf_bufferSize(Handle*, int*, int64_t m, int64_t n, int type, const void*, int64_t lda, int,
                                 const void*, int, size_t* device, size_t* host) {
  if (const int status = called("geqrf_bufferSize", m, n, type, lda)) return status;
  return sizes(device, host);
}

FAKE cusolverDnXgeqrf(Handle* handle, int*, int64_t m, int64_t n, int type, void*, int64_t lda, int typeTau,
                      void* tau, int compute, void* work, size_t bytes, void* host, size_t hostBytes, int* info) {
  if (const int status = called("geqrf", m, n, type, lda, typeTau, compute, bytes, hostBytes)) return status;
  handle->stream->add([=] {
    use(work, bytes, host, hostBytes);
    for (int64_t i = 0; i < std::min(m, n); i++) elements(type, tau).set(i, 1.5);
    *info = 0;
  });
  return 0;
}

static int reflect(const char* name, Handle* handle, int side, int transpose, int m, int n, int k, int lda, int ldc,
                   void* work, int count, size_t bytes, int* info) {
  if (const int status = called(name, side, transpose, m, n, k, lda, ldc, count)) return status;
  handle->stream->add([=] {
    use(work, count * bytes, nullptr, 0);
    *info = k;
  });
  return 0;
}

FAKE cusolverDnSormqr_bufferSize(Handle*, int, int, int, int, int, const void*, int, const void*, const void*, int,
                                 int* count) {
  *count = 20;
  return called("sormqr_bufferSize");
}

FAKE cusolverDnDormqr_bufferSize(Handle*, int, int, int, int, int, const void*, int, const void*, const void*, int,
                                 int* count) {
  *count = 20;
  return called("dormqr_bufferSize");
}

FAKE cusolverDnSormqr(Handle* handle, int side, int transpose, int m, int n, int k, const void*, int lda,
                      const void*, void*, int ldc, void* work, int count, int* info) {
  return reflect("sormqr", handle, side, transpose, m, n, k, lda, ldc, work, count, 4, info);
}

FAKE cusolverDnDormqr(Handle* handle, int side, int transpose, int m, int n, int k, const void*, int lda,
                      const void*, void*, int ldc, void* work, int count, int* info) {
  return reflect("dormqr", handle, side, transpose, m, n, k, lda, ldc, work, count, 8, info);
}

FAKE cusolverDnXsyevd_bufferSize(Handle*, int*, int vectors, int uplo, int64_t n, int type, const void*, int64_t lda,
                                 int, const void*, int, size_t* device, size_t* host) {
  if (const int status = called("syevd_bufferSize", vectors, uplo, n, type, lda)) return status;
  return sizes(device, host);
}

// The eigenvalues of a diagonal matrix, in the order in which they stand.
FAKE cusolverDnXsyevd(Handle* handle, int*, int vectors, int uplo, int64_t n, int type, void* a, int64_t lda, int,
                      void* values, int, void* work, size_t bytes, void* host, size_t hostBytes, int* info) {
  if (const int status = called("syevd", vectors, uplo, n, type, lda, bytes, hostBytes)) return status;
  return waiting(handle, [=] {
    use(work, bytes, host, hostBytes);
    for (int64_t i = 0; i < n; i++) elements(type, values).set(i, elements(type, a).get(i + i * lda));
    *info = 0;
  });
}

#if FAKE_MAJOR > 11
FAKE cusolverDnXsyevBatched_bufferSize(Handle*, int*, int vectors, int uplo, int64_t n, int type, const void*,
                                       int64_t lda, int, const void*, int, size_t* device, size_t* host,
                                       int64_t count) {
  if (const int status = called("syevBatched_bufferSize", vectors, uplo, n, type, lda, count)) return status;
  return sizes(device, host);
}

FAKE cusolverDnXsyevBatched(Handle* handle, int*, int vectors, int uplo, int64_t n, int type, void* a, int64_t lda,
                            int, void* values, int, void* work, size_t bytes, void* host, size_t hostBytes,
                            int* infos, int64_t count) {
  if (const int status = called("syevBatched", vectors, uplo, n, type, lda, bytes, hostBytes, count)) return status;
  return waiting(handle, [=] {
    use(work, bytes, host, hostBytes);
    for (int64_t k = 0; k < count; k++) {
      for (int64_t i = 0; i < n; i++)
        elements(type, values).set(k * n + i, elements(type, a).get(k * n * lda + i + i * lda));
      infos[k] = static_cast<int>(k);
    }
  });
}
#endif

FAKE cusolverDnXgesvd_bufferSize(Handle*, int*, signed char u, signed char vt, int64_t m, int64_t n, int type,
                                 const void*, int64_t lda, int, const void*, int, const void*, int64_t ldu, int,
                                 const void*, int64_t ldvt, int, size_t* device, size_t* host) {
  if (const int status = called("gesvd_bufferSize", u, vt, m, n, type, lda, ldu, ldvt)) return status;
  return sizes(device, host);
}

// The singular values of a diagonal matrix; 1 and 2 as the first elements of the factors.
FAKE cusolverDnXgesvd(Handle* handle, int*, signed char jobu, signed char jobvt, int64_t m, int64_t n, int type,
                      void* a, int64_t lda, int, void* values, int, void* u, int64_t ldu, int, void* vt,
                      int64_t ldvt, int, void* work, size_t bytes, void* host, size_t hostBytes, int* info) {
  if (const int status = called("gesvd", jobu, jobvt, m, n, type, lda, ldu, ldvt, bytes, hostBytes)) return status;
  return waiting(handle, [=] {
    use(work, bytes, host, hostBytes);
    for (int64_t i = 0; i < n; i++) elements(type, values).set(i, elements(type, a).get(i + i * lda));
    if (u) elements(type, u).set(0, 1);
    if (vt) elements(type, vt).set(0, 2);
    *info = 0;
  });
}
