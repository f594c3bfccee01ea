// One physical device of the process, and one environment's hold on it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "driver.h"
#include "spare_events.h"
#include "staging.h"
#include "waiter.h"

namespace mercer {

class Stream;

/// Lives as long as the process: primary context, memory pool, waiter, spare events, slots.
class Device {
 public:
  static int count();
  /// Throws `NO_SUCH_DEVICE`; retains the primary context on first use.
  static Device& get(int ordinal);

  const int ordinal;
  cu::CUdevice handle() const noexcept { return handle_; }
  cu::CUcontext context() const noexcept { return context_; }
  /// Null where the device has no stream-ordered pools.
  cu::CUmemoryPool pool() const noexcept { return pool_; }

  /// Makes the context current on this thread; throws the first fatal error if there was one.
  void enter();
  /// The same for finalisers and threads: false instead of an error.
  bool tryEnter() noexcept;

  bool dead() const noexcept { return dead_.load(std::memory_order_acquire); }
  /// Keeps the first fatal failure only.
  void kill(const Failure& failure);
  std::optional<Failure> cause();

  std::atomic<uint64_t> liveBytes{0};
  std::atomic<uint64_t> liveBuffers{0};
  std::atomic<uint32_t> launchGraphs{0};

  /// Host callbacks enqueued between copies and not yet known to have run.
  std::atomic<size_t> pendingCallbacks{0};

  /// The streams of all environments. Begin and end of a capture happen under the mutex.
  std::mutex streamsMutex;
  std::set<Stream*> streams;

  Waiter waiter;
  SpareEvents events;
  Staging staging;

 private:
  explicit Device(int ordinal);
  void makePool();

  cu::CUdevice handle_ = 0;
  cu::CUcontext context_ = nullptr;
  cu::CUmemoryPool pool_ = nullptr;
  std::atomic<bool> dead_{false};
  std::mutex mutex_;
  std::optional<Failure> cause_;
};

/// One environment's use of a device. Disposing it disables every handle made through it.
class DeviceUse {
 public:
  DeviceUse(Device& device, uint32_t mostLaunchGraphs) : device(device), mostLaunchGraphs(mostLaunchGraphs) {}
  Device& device;
  /// Of the device, for this environment to make one more.
  const uint32_t mostLaunchGraphs;
  /// The device, alive, current on this thread; throws otherwise.
  Device& enter();
  void close() noexcept { closed_.store(true); }

 private:
  std::atomic<bool> closed_{false};
};

using SharedUse = std::shared_ptr<DeviceUse>;

}  // namespace mercer
