// Pinned slots through which pageable host memory travels.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace mercer {

class Device;

/// An ordinary slot returns to the device's list with its last owner; a larger one is freed.
using SharedSlot = std::shared_ptr<void>;

class Staging {
 public:
  static constexpr size_t kSlotBytes = size_t{4} << 20;

  explicit Staging(Device& device) : device_(device) {}
  /// The device must be current. Throws OutOfMemory.
  SharedSlot take(size_t bytes = kSlotBytes);

 private:
  void giveBack(void* slot, bool ordinary) noexcept;

  Device& device_;
  std::mutex mutex_;
  std::vector<void*> spare_;
};

}  // namespace mercer
