#include "batched_cholesky.h"

#include "solver.h"
#include "workspace.h"

namespace mercer {
namespace {

int narrow(int64_t count) { return static_cast<int>(count); }

}  // namespace

void choleskyBatched(Stream& stream, int type, int uplo, int64_t n, const Region& pointers, int64_t leading,
                     int64_t count, const Region& infos) {
  checkIntCounts({n, leading, count});
  const bool wide = realBytes(type) == 8;
  stream.enter();
  Solver& solver = stream.solver();
  auto** matrices = static_cast<void**>(pointers.on(stream, count * kAddressBytes));
  auto* statuses = static_cast<int*>(infos.on(stream, count * sizeof(int)));
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDpotrfBatched : table.cusolverDnSpotrfBatched;
  const char* name = wide ? "cusolverDnDpotrfBatched" : "cusolverDnSpotrfBatched";
  cusolver::check(call(solver.handle(), uplo, narrow(n), matrices, narrow(leading), statuses, narrow(count)), name,
                  stream);
  stream.launched(nullptr);
}

void choleskySolveBatched(Stream& stream, int type, int uplo, int64_t n, const Region& pointers, int64_t leading,
                          const Region& rightPointers, int64_t rightLeading, int64_t count, const Region& info) {
  checkIntCounts({n, leading, rightLeading, count});
  const bool wide = realBytes(type) == 8;
  stream.enter();
  Solver& solver = stream.solver();
  auto** factors = static_cast<void**>(pointers.on(stream, count * kAddressBytes));
  auto** rights = static_cast<void**>(rightPointers.on(stream, count * kAddressBytes));
  auto* status = static_cast<int*>(info.on(stream, sizeof(int)));
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDpotrsBatched : table.cusolverDnSpotrsBatched;
  const char* name = wide ? "cusolverDnDpotrsBatched" : "cusolverDnSpotrsBatched";
  cusolver::check(call(solver.handle(), uplo, narrow(n), 1, factors, narrow(leading), rights, narrow(rightLeading),
                       status, narrow(count)),
                  name, stream);
  stream.launched(nullptr);
}

}  // namespace mercer
