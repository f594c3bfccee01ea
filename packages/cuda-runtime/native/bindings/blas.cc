#include "../core/batched_lu.h"
#include "../core/beside.h"
#include "../core/triangular.h"
#include "operands.h"

namespace mercer {

namespace {

Napi::Value blasPrepare(const Napi::CallbackInfo& info) {
  const auto stream = share<Stream>(info[0]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { prepareBlas(stream, std::move(done)); });
}

// type, side, uplo, transpose, unit, rows, columns, alpha
TriangularSolve triangularOf(Arguments& take) {
  TriangularSolve solve;
  solve.type = take.choice();
  solve.side = take.choice();
  solve.uplo = take.choice();
  solve.transpose = take.choice();
  solve.unit = take.choice();
  solve.rows = take.count();
  solve.columns = take.count();
  solve.alpha = take.number();
  return solve;
}

// (stream, ...triangular, a, aOffset, leadingA, b, bOffset, leadingB, work?, offset, bytes)
Napi::Value trsm(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const TriangularSolve solve = triangularOf(take);
  const Region a = take.region();
  const int64_t leadingA = take.count();
  const Region b = take.region();
  const int64_t leadingB = take.count();
  triangularSolve(unwrap<Stream>(info[0]), solve, a, leadingA, b, leadingB, take.scratch());
  return info.Env().Undefined();
}

// (stream, ...triangular, pointers, offset, leading, rightPointers, offset, rightLeading, count, work?, offset, bytes)
Napi::Value trsmBatched(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const TriangularSolve solve = triangularOf(take);
  const Region pointers = take.region();
  const int64_t leading = take.count();
  const Region rights = take.region();
  const int64_t rightLeading = take.count(), count = take.count();
  triangularSolveBatched(unwrap<Stream>(info[0]), solve, pointers, leading, rights, rightLeading, count,
                         take.scratch());
  return info.Env().Undefined();
}

// type, n, pointers, offset, leading, count, pivots?, offset
LuBatch luBatchOf(Arguments& take) {
  LuBatch batch;
  batch.type = take.choice();
  batch.n = take.count();
  batch.pointers = take.region();
  batch.leading = take.count();
  batch.count = take.count();
  batch.pivots = take.optionalRegion();
  return batch;
}

// (stream, ...batch, infos, offset, work?, offset, bytes)
Napi::Value getrfBatched(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const LuBatch batch = luBatchOf(take);
  const Region infos = take.region();
  luBatched(unwrap<Stream>(info[0]), batch, infos, take.scratch());
  return info.Env().Undefined();
}

// (stream, ...batch, transpose, columns, rightPointers, offset, rightLeading, work?, offset, bytes)
Napi::Value getrsBatched(const Napi::CallbackInfo& info) {
  Arguments take(info, 1);
  const LuBatch batch = luBatchOf(take);
  const int transpose = take.choice();
  const int64_t columns = take.count();
  const Region rights = take.region();
  const int64_t rightLeading = take.count();
  luSolveBatched(unwrap<Stream>(info[0]), batch, transpose, columns, rights, rightLeading, take.scratch());
  return info.Env().Undefined();
}

}  // namespace

void exportBlas(Napi::Object exports) {
  method<blasPrepare>(exports, "blasPrepare");
  method<trsm>(exports, "trsm");
  method<trsmBatched>(exports, "trsmBatched");
  method<getrfBatched>(exports, "getrfBatched");
  method<getrsBatched>(exports, "getrsBatched");
}

}  // namespace mercer
