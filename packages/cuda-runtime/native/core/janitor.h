// Threads for driver calls that may wait for the device.
#pragma once

#include <functional>

namespace mercer {

class Device;

/// Frees something with a call that synchronises the device. Such a call also keeps other threads out
/// of the driver, so it is made when none of our streams has work, at the latest after half a minute.
/// The device is current when `task` runs; nothing runs on a dead device or when the process exits.
void sweep(Device& device, std::function<void()> task);

/// Runs `task` on the thread that loads code.
void runOnLoader(std::function<void()> task);

}  // namespace mercer
