#include "spectral.h"

#include <algorithm>

#include "solver.h"

namespace mercer {
namespace {

/// Addresses of an eigenproblem, checked.
struct EigenMemory {
  void *a, *values;
};

EigenMemory memoryOf(Stream& stream, const EigenProblem& p) {
  checkCounts({p.batch});
  const size_t bytes = realBytes(p.type);
  const int64_t count = std::max<int64_t>(1, p.batch);
  checkCounts({p.a.rows, p.a.leading}, int64_t{1} << 26);  // products stay exact
  return {batchOn(stream, p.a, bytes, count, p.a.columns * p.a.leading),
          batchOn(stream, {p.values, p.a.rows, count, std::max<int64_t>(1, p.a.rows)}, bytes, 1, 0)};
}

/// Shape and places of the factors of a singular value decomposition, checked.
struct SingularMemory {
  void *a, *values, *left, *right;
  int64_t leadingLeft, leadingRight;  // the library checks them also where there is no factor
};

SingularMemory memoryOf(Stream& stream, const SingularProblem& p) {
  const size_t bytes = realBytes(p.type);
  const Matrix& a = p.a;
  if (a.rows < a.columns)
    misuse("INVALID_ARGUMENT", "cuSOLVER decomposes matrices with at least as many rows as columns, got " +
                                   std::to_string(a.rows) + " x " + std::to_string(a.columns) +
                                   "; give it the transpose");
  const auto factor = [&](const Factor& f, int64_t rows, int64_t columns) -> void* {
    if (f.which == 'N') return nullptr;
    if (!f.region.buffer)
      misuse("INVALID_ARGUMENT", "a factor that is wanted needs memory for a matrix of " + std::to_string(rows) +
                                     " x " + std::to_string(columns));
    return Matrix{f.region, rows, columns, f.leading}.on(stream, bytes);
  };
  return {a.on(stream, bytes), p.values.on(stream, a.columns * bytes),
          factor(p.u, a.rows, p.u.which == 'A' ? a.rows : a.columns), factor(p.vt, a.columns, a.columns),
          std::max({int64_t{1}, a.rows, p.u.leading}), std::max({int64_t{1}, a.columns, p.vt.leading})};
}

}  // namespace

WorkspaceBytes eigenWorkspace(Stream& stream, const EigenProblem& p) {
  stream.enter();
  const EigenMemory m = memoryOf(stream, p);
  Solver& solver = stream.solver();
  WorkspaceBytes bytes;
  if (p.batch == 0) {
    MERCER_CUSOLVER_CALL(stream, cusolverDnXsyevd_bufferSize, solver.handle(), solver.params(), p.vectors, p.uplo,
                         p.a.rows, p.type, m.a, p.a.leading, p.type, m.values, p.type, &bytes.device, &bytes.host);
    return bytes;
  }
  if (!cusolver::table().cusolverDnXsyevBatched || !cusolver::table().cusolverDnXsyevBatched_bufferSize)
    misuse("NOT_SUPPORTED", "this cuSOLVER has no cusolverDnXsyevBatched, which came with CUDA 12.6");
  MERCER_CUSOLVER_CALL(stream, cusolverDnXsyevBatched_bufferSize, solver.handle(), solver.params(), p.vectors,
                       p.uplo, p.a.rows, p.type, m.a, p.a.leading, p.type, m.values, p.type, &bytes.device,
                       &bytes.host, p.batch);
  return bytes;
}

void eigen(const SharedStream& stream, const EigenProblem& p, const Scratch& scratch, const Region& infos,
           Waiter::Done done) {
  stream->enter();
  const EigenMemory m = memoryOf(*stream, p);
  auto* status = static_cast<int*>(infos.on(*stream, std::max<int64_t>(1, p.batch) * sizeof(int)));
  scratch.region.on(*stream, scratch.bytes);
  runBeside(
      stream, buffersOf({p.a.region, p.values, scratch.region, infos}),
      [p, scratch, m, status](Stream& beside) {
        const Workspace work(beside, scratch, eigenWorkspace(beside, p));
        Solver& solver = beside.solver();
        if (p.batch == 0)
          MERCER_CUSOLVER_CALL(beside, cusolverDnXsyevd, solver.handle(), solver.params(), p.vectors, p.uplo,
                               p.a.rows, p.type, m.a, p.a.leading, p.type, m.values, p.type, work.device(),
                               work.deviceBytes(), work.host(), work.hostBytes(), status);
        else
          MERCER_CUSOLVER_CALL(beside, cusolverDnXsyevBatched, solver.handle(), solver.params(), p.vectors, p.uplo,
                               p.a.rows, p.type, m.a, p.a.leading, p.type, m.values, p.type, work.device(),
                               work.deviceBytes(), work.host(), work.hostBytes(), status, p.batch);
        work.enqueued(beside);
      },
      std::move(done));
}

WorkspaceBytes singularWorkspace(Stream& stream, const SingularProblem& p) {
  stream.enter();
  const SingularMemory m = memoryOf(stream, p);
  Solver& solver = stream.solver();
  WorkspaceBytes bytes;
  MERCER_CUSOLVER_CALL(stream, cusolverDnXgesvd_bufferSize, solver.handle(), solver.params(), p.u.which, p.vt.which, p.a.rows,
                       p.a.columns, p.type, m.a, p.a.leading, p.type, m.values, p.type, m.left,
                       m.leadingLeft, p.type, m.right,
                       m.leadingRight, p.type, &bytes.device, &bytes.host);
  return bytes;
}

void singular(const SharedStream& stream, const SingularProblem& p, const Scratch& scratch, const Region& info,
              Waiter::Done done) {
  stream->enter();
  const SingularMemory m = memoryOf(*stream, p);
  auto* status = static_cast<int*>(info.on(*stream, sizeof(int)));
  scratch.region.on(*stream, scratch.bytes);
  runBeside(
      stream, buffersOf({p.a.region, p.values, p.u.region, p.vt.region, scratch.region, info}),
      [p, scratch, m, status](Stream& beside) {
        const Workspace work(beside, scratch, singularWorkspace(beside, p));
        Solver& solver = beside.solver();
        MERCER_CUSOLVER_CALL(beside, cusolverDnXgesvd, solver.handle(), solver.params(), p.u.which, p.vt.which, p.a.rows,
                             p.a.columns, p.type, m.a, p.a.leading, p.type, m.values, p.type, m.left,
                             m.leadingLeft, p.type, m.right,
                             m.leadingRight, p.type, work.device(), work.deviceBytes(),
                             work.host(), work.hostBytes(), status);
        work.enqueued(beside);
      },
      std::move(done));
}

}  // namespace mercer
