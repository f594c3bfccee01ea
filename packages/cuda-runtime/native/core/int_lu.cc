#include "int_lu.h"

#include <algorithm>
#include <limits>

#include "solver.h"

namespace mercer {
namespace {

int narrow(int64_t count) { return static_cast<int>(count); }

/// Offsets of elements are int inside these calls.
void checkElements(const char* what, int64_t leading, int64_t columns) {
  checkIntCounts({leading, columns});
  const int64_t elements = leading * columns;
  if (elements > std::numeric_limits<int>::max())
    misuse("INVALID_ARGUMENT", std::string(what) + " has " + std::to_string(elements) +
                                   " elements, but LU with int32 pivots takes less than 2^31. Use int64 pivots");
}

/// The size is counted in elements here.
WorkspaceBytes workspaceOn(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading, void* a) {
  const size_t bytes = realBytes(type);
  checkIntCounts({rows});
  checkElements("the matrix", leading, columns);
  const bool wide = bytes == 8;
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDgetrf_bufferSize : table.cusolverDnSgetrf_bufferSize;
  int elements = 0;
  cusolver::check(call(stream.solver().handle(), narrow(rows), narrow(columns), a, narrow(leading), &elements),
                  wide ? "cusolverDnDgetrf_bufferSize" : "cusolverDnSgetrf_bufferSize", stream);
  if (elements < 0)
    misuse("OUT_OF_RANGE", "the workspace of LU with int32 pivots is beyond 2^31 elements. Use int64 pivots");
  return {elements * bytes, 0};
}

int* intsOn(const Region& region, Stream& stream, int64_t count) {
  return static_cast<int*>(region.on(stream, count * sizeof(int)));
}

}  // namespace

WorkspaceBytes intLuWorkspace(Stream& stream, int type, int64_t rows, int64_t columns, int64_t leading) {
  stream.enter();
  return workspaceOn(stream, type, rows, columns, leading, nullptr);
}

void intLu(Stream& stream, int type, const Matrix& a, const Region& pivots, const Scratch& scratch,
           const Region& info) {
  stream.enter();
  const bool wide = realBytes(type) == 8;
  void* matrix = a.on(stream, realBytes(type));
  int* order = intsOn(pivots, stream, std::min(a.rows, a.columns));
  int* status = intsOn(info, stream, 1);
  const Workspace work(stream, scratch, workspaceOn(stream, type, a.rows, a.columns, a.leading, matrix));
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDgetrf : table.cusolverDnSgetrf;
  cusolver::check(call(stream.solver().handle(), narrow(a.rows), narrow(a.columns), matrix, narrow(a.leading),
                       work.device(), order, status),
                  wide ? "cusolverDnDgetrf" : "cusolverDnSgetrf", stream);
  work.enqueued(stream);
}

void intLuSolve(Stream& stream, int type, int transpose, const Matrix& a, const Region& pivots, const Matrix& b,
                const Region& info) {
  stream.enter();
  const bool wide = realBytes(type) == 8;
  checkElements("the factor", a.leading, a.columns);
  checkElements("the right-hand side", b.leading, b.columns);
  const void* factor = a.on(stream, realBytes(type));
  const int* order = intsOn(pivots, stream, a.rows);
  void* right = b.on(stream, realBytes(type));
  int* status = intsOn(info, stream, 1);
  const auto& table = cusolver::table();
  const auto call = wide ? table.cusolverDnDgetrs : table.cusolverDnSgetrs;
  cusolver::check(call(stream.solver().handle(), transpose, narrow(a.rows), narrow(b.columns), factor,
                       narrow(a.leading), order, right, narrow(b.leading), status),
                  wide ? "cusolverDnDgetrs" : "cusolverDnSgetrs", stream);
  stream.launched(nullptr);
}

}  // namespace mercer
