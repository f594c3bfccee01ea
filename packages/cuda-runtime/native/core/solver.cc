#include "solver.h"

#include "exit.h"
#include "janitor.h"

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

void Solver::retire(std::shared_ptr<Solver> solver, Device& device, cu::CUstream stream) noexcept {
  try {
    auto event = device.events.take();
    MERCER_CU(&device, cuEventRecord, event.get(), stream);
    const void* queue = event.get();
    device.waiter.add(queue, std::move(event), [solver = std::move(solver), &device, stream](const Failure*) mutable {
      sweep(device, [solver = std::move(solver), stream]() mutable {
        solver.reset();
        driver().cuStreamDestroy(stream);
      });
    });
  } catch (...) {
    // The device is gone, and the handle with it.
  }
}

}  // namespace mercer
