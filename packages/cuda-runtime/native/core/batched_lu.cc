#include "batched_lu.h"

#include "blas.h"
#include "workspace.h"

namespace mercer {
namespace {

/// The addresses of a checked batch and its pivots.
struct Placed {
  void* const* matrices;
  int* pivots;
};

Placed place(Stream& stream, const LuBatch& batch) {
  checkIntCounts({batch.n, batch.leading, batch.count});
  checkLeading(batch.leading, batch.n);
  const uint64_t count = batch.count;
  return {static_cast<void* const*>(batch.pointers.on(stream, count * kAddressBytes)),
          static_cast<int*>(batch.pivots.on(stream, count * batch.n * sizeof(int)))};
}

}  // namespace

void luBatched(Stream& stream, const LuBatch& batch, const Region& infos, const Scratch& work) {
  const bool wide = realBytes(batch.type) == 8;
  stream.enter();
  const Placed at = place(stream, batch);
  auto* statuses = static_cast<int*>(infos.on(stream, batch.count * sizeof(int)));
  if (batch.count == 0) return;
  const auto& table = cublas::table();
  const auto call = wide ? table.cublasDgetrfBatched : table.cublasSgetrfBatched;
  const auto handle = stream.blas().workingIn(work, stream);
  const auto status = call(handle, static_cast<int>(batch.n), at.matrices, static_cast<int>(batch.leading), at.pivots,
                           statuses, static_cast<int>(batch.count));
  cublas::check(status, wide ? "cublasDgetrfBatched" : "cublasSgetrfBatched", stream);
  stream.launched(nullptr);
}

void luSolveBatched(Stream& stream, const LuBatch& batch, int transpose, int64_t columns,
                    const Region& rightPointers, int64_t rightLeading, const Scratch& work) {
  const bool wide = realBytes(batch.type) == 8;
  stream.enter();
  const Placed at = place(stream, batch);
  checkIntCounts({columns, rightLeading});
  checkLeading(rightLeading, batch.n);
  auto* const* rights = static_cast<void* const*>(rightPointers.on(stream, batch.count * kAddressBytes));
  if (batch.count == 0 || batch.n == 0 || columns == 0) return;
  const auto& table = cublas::table();
  const auto call = wide ? table.cublasDgetrsBatched : table.cublasSgetrsBatched;
  const auto handle = stream.blas().workingIn(work, stream);
  int info = 0;  // on the host, unlike all others
  const auto status = call(handle, transpose, static_cast<int>(batch.n), static_cast<int>(columns), at.matrices,
                           static_cast<int>(batch.leading), at.pivots, rights, static_cast<int>(rightLeading), &info,
                           static_cast<int>(batch.count));
  cublas::check(status, wide ? "cublasDgetrsBatched" : "cublasSgetrsBatched", stream, info);
  stream.launched(nullptr);
}

}  // namespace mercer
