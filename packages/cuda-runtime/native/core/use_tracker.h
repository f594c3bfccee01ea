// Remembers on which streams an object was used, so that it can outlive that work.
#pragma once

#include <memory>
#include <vector>

#include "stream.h"

namespace mercer {

class UseTracker {
 public:
  void note(const SharedStream& stream) {
    if (last_ == stream.get()) return;
    last_ = stream.get();
    for (const auto& known : streams_)
      if (known.lock() == stream) return;
    streams_.push_back(stream);
  }

  /// Keeps `held` until the work enqueued so far on every noted stream is done.
  void holdUntilIdle(const std::shared_ptr<void>& held) noexcept {
    for (const auto& weak : streams_) {
      const auto stream = weak.lock();
      if (!stream || stream->capturing() || !stream->use->device.tryEnter()) continue;
      try {
        Device& device = stream->use->device;
        auto event = device.events.take();
        if (driver().cuEventRecord(event.get(), stream->handle())) continue;
        const void* queue = event.get();
        device.waiter.add(queue, std::move(event), [held](const Failure*) {});
      } catch (...) {
        // The device is gone; so is the work.
      }
    }
  }

 private:
  const Stream* last_ = nullptr;
  std::vector<std::weak_ptr<Stream>> streams_;
};

}  // namespace mercer
