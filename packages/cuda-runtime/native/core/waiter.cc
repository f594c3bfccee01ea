#include "waiter.h"

#include <sys/prctl.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "device.h"
#include "exit.h"

namespace mercer {

void Waiter::add(const void* queue, std::shared_ptr<cu::CUevent_st> event, Done done) {
  bool start = false;
  {
    std::lock_guard lock(mutex_);
    if (stop_) return;
    queues_[queue].push_back({std::move(event), std::move(done)});
    youngest_ = Clock::now();
    start = !started_;
    started_ = true;
  }
  if (start) {
    std::thread([this] { run(); }).detach();
    atProcessExit([this] { halt(); });
  }
  wake_.notify_one();
}

void Waiter::wake() { wake_.notify_one(); }

void Waiter::run() {
  prctl(PR_SET_TIMERSLACK, 1000UL);  // wake within a microsecond, not within fifty
  std::unique_lock lock(mutex_);
  while (!stop_) {
    if (queues_.empty()) {
      wake_.wait(lock);
      continue;
    }
    if (device_.dead()) {
      rejectAll(lock);
      continue;
    }
    if (poll(lock)) continue;
    using std::chrono::microseconds;
    const auto age = std::chrono::duration_cast<microseconds>(Clock::now() - youngest_);
    wake_.wait_for(lock, std::clamp(age / 16, microseconds(5), microseconds(500)));
  }
  stopped_ = true;
  idle_.notify_all();
}

bool Waiter::poll(std::unique_lock<std::mutex>& lock) {
  std::vector<std::pair<const void*, std::shared_ptr<cu::CUevent_st>>> heads;
  heads.reserve(queues_.size());
  for (const auto& [key, queue] : queues_) heads.emplace_back(key, queue.front().event);
  lock.unlock();
  bool progressed = false;
  const bool usable = device_.tryEnter();
  for (auto& [key, event] : heads) {
    if (!usable) break;
    const auto result = driver().cuEventQuery(event.get());
    event = nullptr;
    if (result == cu::kNotReady) continue;
    Failure failure;
    if (result != cu::kSuccess) {
      failure = cudaFailure(result, "cuEventQuery", device_.ordinal);
      if (isFatal(result)) {
        device_.kill(failure);
        break;
      }
    }
    lock.lock();
    auto found = queues_.find(key);
    Wait wait = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) queues_.erase(found);
    lock.unlock();
    wait.done(result == cu::kSuccess ? nullptr : &failure);
    progressed = true;
  }
  heads.clear();
  lock.lock();
  return progressed;
}

void Waiter::rejectAll(std::unique_lock<std::mutex>& lock) {
  auto queues = std::move(queues_);
  queues_.clear();
  lock.unlock();
  const Failure cause = *device_.cause();
  for (auto& [key, queue] : queues)
    for (auto& wait : queue) wait.done(&cause);
  queues.clear();
  lock.lock();
}

void Waiter::halt() {
  std::unique_lock lock(mutex_);
  stop_ = true;
  wake_.notify_all();
  idle_.wait_for(lock, std::chrono::seconds(1), [this] { return stopped_; });
}

}  // namespace mercer
