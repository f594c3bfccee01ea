#include "serial_thread.h"

#include <thread>

#include "exit.h"

namespace mercer {

void SerialThread::run(std::function<void()> task) {
  if (exiting()) return;
  bool start = false;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    tasks_.push_back(std::move(task));
    start = !started_;
    started_ = true;
  }
  if (start) {
    std::thread([this] { loop(); }).detach();
    atProcessExit([this] { halt(); });
  }
  wake_.notify_one();
}

bool SerialThread::pause(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, time, [this] { return stop_; });
}

void SerialThread::loop() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (tasks_.empty()) {
      wake_.wait(lock);
      continue;
    }
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    busy_ = true;
    lock.unlock();
    try {
      task();
    } catch (...) {
      // Tasks report their own failures; nobody is left to hear of this one.
    }
    task = nullptr;
    lock.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

void SerialThread::halt() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  tasks_.clear();
  wake_.notify_all();
  // A call that waits for a long kernel is abandoned: the process ends either way.
  idle_.wait_for(lock, std::chrono::milliseconds(200), [this] { return !busy_; });
}

}  // namespace mercer
