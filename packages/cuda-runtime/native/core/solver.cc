#include "solver.h"

#include "exit.h"

namespace mercer {

Solver::Solver(Stream& stream) : device_(stream.enter()) {
  const auto& table = cusolver::table();
  MERCER_CUSOLVER_CALL(stream, cusolverDnCreate, &handle_);
  try {
    MERCER_CUSOLVER_CALL(stream, cusolverDnCreateParams, &params_);
    MERCER_CUSOLVER_CALL(stream, cusolverDnSetStream, handle_, stream.handle());
  } catch (...) {
    if (params_) table.cusolverDnDestroyParams(params_);
    table.cusolverDnDestroy(handle_);
    throw;
  }
  // The first handle starts the CUDA runtime inside the library, which has exit handlers of its own.
  static std::once_flag once;
  std::call_once(once, [] { atProcessExit([] {}); });
}

Solver::~Solver() {
  if (!device_.tryEnter()) return;
  cusolver::table().cusolverDnDestroyParams(params_);
  cusolver::table().cusolverDnDestroy(handle_);
}

}  // namespace mercer
