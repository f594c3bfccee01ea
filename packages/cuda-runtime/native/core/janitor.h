// A thread for driver calls that may wait for the device.
#pragma once

#include <functional>

namespace mercer {

/// Runs `task` on the janitor's thread; dropped when the process is exiting.
void sweep(std::function<void()> task);

}  // namespace mercer
