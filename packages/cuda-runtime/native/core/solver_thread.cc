#include "solver_thread.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "exit.h"

namespace mercer {
namespace {

/// Tasks under way on all solver threads: the library must not lose its static state inside a call.
struct Running {
  std::mutex mutex;
  std::condition_variable idle;
  unsigned count = 0;
  bool registered = false;

  bool begin() {
    std::lock_guard lock(mutex);
    if (exiting()) return false;
    count++;
    return true;
  }

  void end() {
    std::lock_guard lock(mutex);
    count--;
    idle.notify_all();
  }

  void waitAtExit() {
    {
      std::lock_guard lock(mutex);
      if (std::exchange(registered, true)) return;
    }
    atProcessExit([this] {
      std::unique_lock lock(mutex);
      idle.wait_for(lock, std::chrono::seconds(60), [this] { return count == 0; });
    });
  }
};

Running& running() {
  static auto* instance = new Running;
  return *instance;
}

}  // namespace

struct SolverThread::State {
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> tasks;
  bool started = false, stop = false;

  void loop() {
    std::unique_lock lock(mutex);
    while (!stop) {
      if (tasks.empty()) {
        wake.wait(lock);
        continue;
      }
      auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      if (running().begin()) {
        try {
          task();
        } catch (...) {
          // Tasks report their own failures; nobody is left to hear of this one.
        }
        running().end();
      }
      // May be the last owner of this thread's stream, and so of the SolverThread.
      task = nullptr;
      lock.lock();
    }
  }
};

SolverThread::SolverThread() : state_(std::make_shared<State>()) {}

SolverThread::~SolverThread() {
  std::deque<std::function<void()>> dropped;
  {
    std::lock_guard lock(state_->mutex);
    state_->stop = true;
    dropped.swap(state_->tasks);
  }
  state_->wake.notify_one();
}

void SolverThread::run(std::function<void()> task) {
  if (exiting()) return;
  bool start = false;
  {
    std::lock_guard lock(state_->mutex);
    state_->tasks.push_back(std::move(task));
    start = !std::exchange(state_->started, true);
  }
  if (start) {
    std::thread([state = state_] { state->loop(); }).detach();
    running().waitAtExit();
  }
  state_->wake.notify_one();
}

}  // namespace mercer
