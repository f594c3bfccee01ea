// Reusable events without timing, for completion of streams.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "driver_types.h"

namespace mercer {

class Device;

/// Returns to the device's list with its last owner.
using SharedEvent = std::shared_ptr<cu::CUevent_st>;

class SpareEvents {
 public:
  explicit SpareEvents(Device& device) : device_(device) {}
  /// The device must be current.
  SharedEvent take();

 private:
  void giveBack(cu::CUevent event) noexcept;

  Device& device_;
  std::mutex mutex_;
  std::vector<cu::CUevent> spare_;
};

}  // namespace mercer
