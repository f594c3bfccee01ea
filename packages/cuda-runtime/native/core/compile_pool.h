// The threads that compile.
#pragma once

#include <functional>

namespace mercer {

/// Runs `task` on one of the pool's threads (as many as cores less one, at most 8).
void runOnCompilePool(std::function<void()> task);

}  // namespace mercer
