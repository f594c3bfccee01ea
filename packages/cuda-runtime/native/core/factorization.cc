#include "factorization.h"

#include <algorithm>

#include "solver.h"

namespace mercer {
namespace {

constexpr size_t kInfoBytes = 4;
constexpr size_t kPivotBytes = 8;

/// The handle of a stream whose device is alive and current.
Solver& solverOf(Stream& stream) {
  stream.enter();
  return stream.solver();
}

int* infoOn(const Region& info, Stream& stream, int64_t count = 1) {
  return static_cast<int*>(info.on(stream, count * kInfoBytes));
}

}  // namespace

WorkspaceBytes choleskyWorkspace(Stream& stream, int type, int uplo, int64_t n, int64_t leading) {
  checkCounts({n, leading});
  realBytes(type);
  Solver& solver = solverOf(stream);
  WorkspaceBytes bytes;
  MERCER_CUSOLVER_CALL(stream, cusolverDnXpotrf_bufferSize, solver.handle(), solver.params(), uplo, n, type, nullptr,
                       leading, type, &bytes.device, &bytes.host);
  return bytes;
}

void cholesky(Stream& stream, int type, int uplo, const Matrix& a, const Scratch& scratch, const Region& info) {
  Solver& solver = solverOf(stream);
  void* matrix = a.on(stream, realBytes(type));
  int* status = infoOn(info, stream);
  const Workspace work(stream, scratch, choleskyWorkspace(stream, type, uplo, a.rows, a.leading));
  MERCER_CUSOLVER_CALL(stream, cusolverDnXpotrf, solver.handle(), solver.params(), uplo, a.rows, type, matrix,
                       a.leading, type, work.device(), work.deviceBytes(), work.host(), work.hostBytes(), status);
  work.enqueued(stream);
}

void choleskySolve(Stream& stream, int type, int uplo, const Matrix& a, const Matrix& b, const Region& info) {
  Solver& solver = solverOf(stream);
  const void* factor = a.on(stream, realBytes(type));
  void* right = b.on(stream, realBytes(type));
  MERCER_CUSOLVER_CALL(stream, cusolverDnXpotrs, solver.handle(), solver.params(), uplo, a.rows, b.columns, type,
                       factor, a.leading, type, right, b.leading, infoOn(info, stream));
  stream.launched(nullptr);
}

WorkspaceBytes luWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading) {
  checkCounts({rows, columns, leading});
  realBytes(type);
  Solver& solver = solverOf(stream);
  WorkspaceBytes bytes;
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgetrf_bufferSize, solver.handle(), solver.params(), rows, columns, type,
                       nullptr, leading, type, &bytes.device, &bytes.host);
  return bytes;
}

void lu(Stream& stream, int type, const Matrix& a, const Region& pivots, const Scratch& scratch,
        const Region& info) {
  Solver& solver = solverOf(stream);
  void* matrix = a.on(stream, realBytes(type));
  auto* order = static_cast<int64_t*>(pivots.on(stream, std::min(a.rows, a.columns) * kPivotBytes));
  int* status = infoOn(info, stream);
  const Workspace work(stream, scratch, luWorkspace(stream, type, a.rows, a.columns, a.leading));
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgetrf, solver.handle(), solver.params(), a.rows, a.columns, type, matrix,
                       a.leading, order, type, work.device(), work.deviceBytes(), work.host(), work.hostBytes(),
                       status);
  work.enqueued(stream);
}

void luSolve(Stream& stream, int type, int transpose, const Matrix& a, const Region& pivots, const Matrix& b,
             const Region& info) {
  Solver& solver = solverOf(stream);
  const void* factor = a.on(stream, realBytes(type));
  const auto* order = static_cast<const int64_t*>(pivots.on(stream, a.rows * kPivotBytes));
  void* right = b.on(stream, realBytes(type));
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgetrs, solver.handle(), solver.params(), transpose, a.rows, b.columns,
                       type, factor, a.leading, order, type, right, b.leading, infoOn(info, stream));
  stream.launched(nullptr);
}

WorkspaceBytes qrWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading) {
  checkCounts({rows, columns, leading});
  realBytes(type);
  Solver& solver = solverOf(stream);
  WorkspaceBytes bytes;
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgeqrf_bufferSize, solver.handle(), solver.params(), rows, columns, type,
                       nullptr, leading, type, nullptr, type, &bytes.device, &bytes.host);
  return bytes;
}

void qr(Stream& stream, int type, const Matrix& a, const Region& tau, const Scratch& scratch, const Region& info) {
  Solver& solver = solverOf(stream);
  const size_t bytes = realBytes(type);
  void* matrix = a.on(stream, bytes);
  void* factors = tau.on(stream, std::min(a.rows, a.columns) * bytes);
  int* status = infoOn(info, stream);
  const Workspace work(stream, scratch, qrWorkspace(stream, type, a.rows, a.columns, a.leading));
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgeqrf, solver.handle(), solver.params(), a.rows, a.columns, type, matrix,
                       a.leading, type, factors, type, work.device(), work.deviceBytes(), work.host(),
                       work.hostBytes(), status);
  work.enqueued(stream);
}

}  // namespace mercer
