#include "janitor.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "exit.h"

namespace mercer {
namespace {

struct Janitor {
  std::mutex mutex;
  std::condition_variable wake, idle;
  std::deque<std::function<void()>> tasks;
  bool started = false, stop = false, busy = false;

  void run() {
    std::unique_lock lock(mutex);
    while (!stop) {
      if (tasks.empty()) {
        wake.wait(lock);
        continue;
      }
      auto task = std::move(tasks.front());
      tasks.pop_front();
      busy = true;
      lock.unlock();
      try {
        task();
      } catch (...) {
        // Nobody is left to hear of it.
      }
      task = nullptr;
      lock.lock();
      busy = false;
    }
    idle.notify_all();
  }

  void halt() {
    std::unique_lock lock(mutex);
    stop = true;
    wake.notify_all();
    // A call that waits for a long kernel is abandoned: the process ends either way.
    idle.wait_for(lock, std::chrono::milliseconds(200), [this] { return !busy; });
  }
};

Janitor& janitor() {
  static auto* instance = new Janitor;
  return *instance;
}

}  // namespace

void sweep(std::function<void()> task) {
  Janitor& j = janitor();
  if (exiting()) return;
  std::unique_lock lock(j.mutex);
  if (j.stop) return;
  j.tasks.push_back(std::move(task));
  if (!j.started) {
    j.started = true;
    std::thread([&j] { j.run(); }).detach();
    lock.unlock();
    atProcessExit([&j] { j.halt(); });
    return;
  }
  j.wake.notify_one();
}

}  // namespace mercer
