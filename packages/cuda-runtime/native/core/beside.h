// Library calls that wait for their own results: a stream and a thread beside the caller's.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "solver_thread.h"
#include "stream.h"

namespace mercer {

/// Belongs to a stream. Its own stream is only used on its own thread.
class Beside {
 public:
  Beside(SharedUse use, int priority);

  const SharedStream stream;
  SolverThread thread;
};

/// Runs `call` on the solver thread of `stream`, with a second stream that waits for everything
/// enqueued on `stream` so far. `done` is told when the results are in device memory; what `stream`
/// gets before that is not ordered with them. `kept` stays alive until then.
void runBeside(const SharedStream& stream, std::vector<std::shared_ptr<void>> kept,
               std::function<void(Stream& beside)> call, Waiter::Done done);

/// Makes the cuSOLVER handles of `stream` and of its second stream on its solver thread.
void prepareSolvers(const SharedStream& stream, Waiter::Done done);

/// Makes the cuBLAS handle of `stream` on its solver thread.
void prepareBlas(const SharedStream& stream, Waiter::Done done);

}  // namespace mercer
