#include "apply_q.h"

#include <limits>

#include "solver.h"
#include "workspace.h"

namespace mercer {
namespace {

constexpr int64_t kIntMax = std::numeric_limits<int>::max();

/// Arguments as cuSOLVER's 32-bit interface takes them.
struct Arguments {
  int m, n, k, leadingA, leadingC;
  const void *a, *tau;
  void* c;
};

Arguments argumentsOf(Stream& stream, int type, const Matrix& a, const Region& tau, const Matrix& c) {
  checkCounts({a.rows, a.columns, a.leading, c.rows, c.columns, c.leading}, kIntMax);
  const size_t bytes = realBytes(type);
  if (a.columns > a.rows)
    misuse("INVALID_ARGUMENT", "there are more reflectors (" + std::to_string(a.columns) + ") than the " +
                                   std::to_string(a.rows) + " rows that they have");
  const auto narrow = [](int64_t count) { return static_cast<int>(count); };
  return {narrow(c.rows), narrow(c.columns), narrow(a.columns), narrow(a.leading), narrow(c.leading),
          a.on(stream, bytes), tau.on(stream, a.columns * bytes), c.on(stream, bytes)};
}

/// The size in elements, as cuSOLVER counts it here.
int elementsFor(Stream& stream, int type, int side, int transpose, const Arguments& x) {
  const bool wide = type == cusolver::kDouble;
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDormqr_bufferSize : table.cusolverDnSormqr_bufferSize;
  const char* name = wide ? "cusolverDnDormqr_bufferSize" : "cusolverDnSormqr_bufferSize";
  int elements = 0;
  cusolver::check(call(stream.solver().handle(), side, transpose, x.m, x.n, x.k, x.a, x.leadingA, x.tau, x.c,
                       x.leadingC, &elements),
                  name, stream);
  return elements;
}

}  // namespace

size_t applyQWorkspace(Stream& stream, int type, int side, int transpose, const Matrix& a, const Region& tau,
                       const Matrix& c) {
  stream.enter();
  return elementsFor(stream, type, side, transpose, argumentsOf(stream, type, a, tau, c)) * realBytes(type);
}

void applyQ(Stream& stream, int type, int side, int transpose, const Matrix& a, const Region& tau,
            const Matrix& c, const Scratch& scratch, const Region& info) {
  stream.enter();
  const Arguments x = argumentsOf(stream, type, a, tau, c);
  const int elements = elementsFor(stream, type, side, transpose, x);
  const Workspace work(stream, scratch, {elements * realBytes(type), 0});
  auto* status = static_cast<int*>(info.on(stream, sizeof(int)));
  const bool wide = type == cusolver::kDouble;
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDormqr : table.cusolverDnSormqr;
  cusolver::check(call(stream.solver().handle(), side, transpose, x.m, x.n, x.k, x.a, x.leadingA, x.tau, x.c,
                       x.leadingC, work.device(), elements, status),
                  wide ? "cusolverDnDormqr" : "cusolverDnSormqr", stream);
  work.enqueued(stream);
}

}  // namespace mercer
