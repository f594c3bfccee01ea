#include "../core/apply_q.h"
#include "../core/batched_cholesky.h"
#include "../core/beside.h"
#include "../core/factorization.h"
#include "../core/int_lu.h"
#include "operands.h"

namespace mercer {

namespace {

Napi::Value solverPrepare(const Napi::CallbackInfo& info) {
  const auto stream = share<Stream>(info[0]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { prepareSolvers(stream, std::move(done)); });
}

// (stream, type, uplo, n, leading)
Napi::Value potrfWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), uplo = take.choice();
  const int64_t n = take.count(), leading = take.count();
  return workspaceOf(info.Env(), choleskyWorkspace(unwrap<Stream>(info[0]), type, uplo, n, leading));
}

// (stream, type, uplo, n, a, aOffset, leading, work, workOffset, workBytes, info, infoOffset)
Napi::Value potrf(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), uplo = take.choice();
  const int64_t n = take.count();
  const Region a = take.region();
  const Matrix matrix{a, n, n, take.count()};
  const Scratch work = take.scratch();
  cholesky(unwrap<Stream>(info[0]), type, uplo, matrix, work, take.region());
  return info.Env().Undefined();
}

// (stream, type, uplo, n, columns, a, aOffset, leadingA, b, bOffset, leadingB, info, infoOffset)
Napi::Value potrs(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), uplo = take.choice();
  const int64_t n = take.count(), columns = take.count();
  const Region a = take.region();
  const Matrix factor{a, n, n, take.count()};
  const Region b = take.region();
  const Matrix right{b, n, columns, take.count()};
  choleskySolve(unwrap<Stream>(info[0]), type, uplo, factor, right, take.region());
  return info.Env().Undefined();
}

// Pivots are int32 or, with 1, int64.

// (stream, type, wide, rows, columns, leading)
Napi::Value getrfWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), wide = take.choice();
  const int64_t rows = take.count(), columns = take.count(), leading = take.count();
  const auto workspace = wide ? luWorkspace : intLuWorkspace;
  return workspaceOf(info.Env(), workspace(unwrap<Stream>(info[0]), type, rows, columns, leading));
}

// (stream, type, wide, rows, columns, a, aOffset, leading, pivots?, offset, work, offset, bytes, info, offset)
Napi::Value getrf(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), wide = take.choice();
  const int64_t rows = take.count(), columns = take.count();
  const Region a = take.region();
  const Matrix matrix{a, rows, columns, take.count()};
  const Region pivots = take.optionalRegion();
  const Scratch work = take.scratch();
  (wide ? lu : intLu)(unwrap<Stream>(info[0]), type, matrix, pivots, work, take.region());
  return info.Env().Undefined();
}

// (stream, type, wide, transpose, n, columns, a, offset, leadingA, pivots?, offset, b, offset, leadingB, info, offset)
Napi::Value getrs(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), wide = take.choice(), transpose = take.choice();
  const int64_t n = take.count(), columns = take.count();
  const Region a = take.region();
  const Matrix factor{a, n, n, take.count()};
  const Region pivots = take.optionalRegion();
  const Region b = take.region();
  const Matrix right{b, n, columns, take.count()};
  (wide ? luSolve : intLuSolve)(unwrap<Stream>(info[0]), type, transpose, factor, pivots, right, take.region());
  return info.Env().Undefined();
}

// (stream, type, rows, columns, leading)
Napi::Value geqrfWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice();
  const int64_t rows = take.count(), columns = take.count(), leading = take.count();
  return workspaceOf(info.Env(), qrWorkspace(unwrap<Stream>(info[0]), type, rows, columns, leading));
}

// (stream, type, rows, columns, a, aOffset, leading, tau, offset, work, offset, bytes, info, offset)
Napi::Value geqrf(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice();
  const int64_t rows = take.count(), columns = take.count();
  const Region a = take.region();
  const Matrix matrix{a, rows, columns, take.count()};
  const Region tau = take.region();
  const Scratch work = take.scratch();
  qr(unwrap<Stream>(info[0]), type, matrix, tau, work, take.region());
  return info.Env().Undefined();
}

/// Reflectors and the matrix that they are applied to.
struct Reflection {
  int type, side, transpose;
  Matrix a, c;
  Region tau;
};

// type, side, transpose, rows of c, columns of c, reflectors, a, aOffset, leadingA, tau, offset, c, cOffset, leadingC
Reflection reflectionOf(Arguments& take) {
  const int type = take.choice(), side = take.choice(), transpose = take.choice();
  const int64_t rows = take.count(), columns = take.count(), reflectors = take.count();
  const Region a = take.region();
  const Matrix from{a, side == 0 ? rows : columns, reflectors, take.count()};
  const Region tau = take.region();
  const Region c = take.region();
  const Matrix to{c, rows, columns, take.count()};
  return {type, side, transpose, from, to, tau};
}

Napi::Value ormqrWorkspace(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const Reflection r = reflectionOf(take);
  const size_t bytes = applyQWorkspace(unwrap<Stream>(info[0]), r.type, r.side, r.transpose, r.a, r.tau, r.c);
  return workspaceOf(info.Env(), {bytes, 0});
}

// (stream, ...reflection, work, offset, bytes, info, offset)
Napi::Value ormqr(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const Reflection r = reflectionOf(take);
  const Scratch work = take.scratch();
  applyQ(unwrap<Stream>(info[0]), r.type, r.side, r.transpose, r.a, r.tau, r.c, work, take.region());
  return info.Env().Undefined();
}

// (stream, type, uplo, n, pointers, offset, leading, count, infos, offset)
Napi::Value potrfBatched(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), uplo = take.choice();
  const int64_t n = take.count();
  const Region pointers = take.region();
  const int64_t leading = take.count(), count = take.count();
  choleskyBatched(unwrap<Stream>(info[0]), type, uplo, n, pointers, leading, count, take.region());
  return info.Env().Undefined();
}

// (stream, type, uplo, n, pointers, offset, leading, rightPointers, offset, rightLeading, count, info, offset)
Napi::Value potrsBatched(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const int type = take.choice(), uplo = take.choice();
  const int64_t n = take.count();
  const Region pointers = take.region();
  const int64_t leading = take.count();
  const Region rights = take.region();
  const int64_t rightLeading = take.count(), count = take.count();
  choleskySolveBatched(unwrap<Stream>(info[0]), type, uplo, n, pointers, leading, rights, rightLeading, count,
                       take.region());
  return info.Env().Undefined();
}

}  // namespace

void exportFactorizations(Napi::Object exports) {
  method<solverPrepare>(exports, "solverPrepare");
  method<potrfWorkspace>(exports, "potrfWorkspace");
  method<potrf>(exports, "potrf");
  method<potrs>(exports, "potrs");
  method<getrfWorkspace>(exports, "getrfWorkspace");
  method<getrf>(exports, "getrf");
  method<getrs>(exports, "getrs");
  method<geqrfWorkspace>(exports, "geqrfWorkspace");
  method<geqrf>(exports, "geqrf");
  method<ormqrWorkspace>(exports, "ormqrWorkspace");
  method<ormqr>(exports, "ormqr");
  method<potrfBatched>(exports, "potrfBatched");
  method<potrsBatched>(exports, "potrsBatched");
}

}  // namespace mercer
