// What must happen before the driver's own exit handlers run.
#pragma once

#include <functional>

namespace mercer {

/// True once the process has begun to exit: from then on nothing of ours calls CUDA.
bool exiting() noexcept;

/// Runs `stop` when the process exits, before destructors of libraries opened so far.
void atProcessExit(std::function<void()> stop);

}  // namespace mercer
