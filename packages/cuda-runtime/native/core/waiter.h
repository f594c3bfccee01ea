// One polling thread per device: tells when events are done, or that the device died.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "driver_types.h"
#include "failure.h"

namespace mercer {

class Device;

class Waiter {
 public:
  /// Called once on the waiter's thread with no lock held; null means done.
  using Done = std::function<void(const Failure*)>;

  explicit Waiter(Device& device) : device_(device) {}

  /// Waits of one `queue` finish in the order of adding; only the first is asked for.
  void add(const void* queue, std::shared_ptr<cu::CUevent_st> event, Done done);
  void wake();

 private:
  using Clock = std::chrono::steady_clock;
  struct Wait {
    std::shared_ptr<cu::CUevent_st> event;
    Done done;
  };

  void run();
  bool poll(std::unique_lock<std::mutex>& lock);
  void rejectAll(std::unique_lock<std::mutex>& lock);
  void halt();

  Device& device_;
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::map<const void*, std::deque<Wait>> queues_;
  Clock::time_point youngest_;
  bool started_ = false, stop_ = false, stopped_ = false;
};

}  // namespace mercer
