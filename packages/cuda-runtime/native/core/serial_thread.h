// A thread that runs tasks one after another, started on first use and stopped when the process exits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>

namespace mercer {

class SerialThread {
 public:
  /// Dropped when the process is exiting.
  void run(std::function<void()> task);
  /// Sleeps on the thread itself; false when it has to stop.
  bool pause(std::chrono::milliseconds time);

 private:
  void loop();
  void halt();

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<void()>> tasks_;
  bool started_ = false, stop_ = false, busy_ = false;
};

}  // namespace mercer
