// Copies between pageable host memory and the device, in stream order and without blocking.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "buffer.h"
#include "pinned.h"

namespace mercer {

/// Guards the caller's memory: after `cancel` no callback touches it.
class HostAccess {
 public:
  void cancel() {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  void copy(void* to, const void* from, size_t bytes);

 private:
  std::mutex mutex_;
  bool cancelled_ = false;
};

using SharedAccess = std::shared_ptr<HostAccess>;
using SharedBuffer = std::shared_ptr<Buffer>;

/// Below this the driver takes the bytes before its call returns.
inline constexpr size_t kInlineBytes = size_t{64} << 10;

/// Small and middle sizes: the bytes of `from` are taken during the call.
void copyToDeviceNow(Stream& stream, const SharedBuffer& to, uint64_t offset, const void* from,
                     size_t bytes);
/// Any size: `from` is read while the stream gets there; `done` when it was read to the end.
void copyToDeviceLater(Stream& stream, const SharedBuffer& to, uint64_t offset, const void* from,
                       size_t bytes, const SharedAccess& access, Waiter::Done done);
/// At most one slot: `done` gets the slot holding the bytes.
void copyToSlot(Stream& stream, const SharedBuffer& from, uint64_t offset, size_t bytes,
                std::function<void(const Failure*, SharedSlot)> done);
/// Any size: bytes are written to `to` as they arrive.
void copyToHostLater(Stream& stream, void* to, const SharedBuffer& from, uint64_t offset,
                     size_t bytes, const SharedAccess& access, Waiter::Done done);

void copyFromPinned(Stream& stream, const SharedBuffer& to, uint64_t offset,
                    const std::shared_ptr<Pinned>& from, uint64_t fromOffset, uint64_t bytes,
                    Waiter::Done done);
void copyToPinned(Stream& stream, const std::shared_ptr<Pinned>& to, uint64_t toOffset,
                  const SharedBuffer& from, uint64_t offset, uint64_t bytes, Waiter::Done done);

}  // namespace mercer
