#include "compile_pool.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "exit.h"

namespace mercer {
namespace {

struct Pool {
  std::mutex mutex;
  std::condition_variable wake, idle;
  std::deque<std::function<void()>> tasks;
  unsigned threads = 0, waiting = 0, busy = 0;
  bool stop = false;

  static unsigned limit() {
    return std::clamp(std::thread::hardware_concurrency(), 2u, 17u) - 1;
  }

  void run() {
    // A little below the JavaScript thread, so that compiling does not make it late.
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), 5);
    std::unique_lock lock(mutex);
    while (!stop) {
      if (tasks.empty()) {
        waiting++;
        wake.wait(lock);
        waiting--;
        continue;
      }
      auto task = std::move(tasks.front());
      tasks.pop_front();
      busy++;
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
      busy--;
      idle.notify_all();
    }
  }

  void halt() {
    std::unique_lock lock(mutex);
    stop = true;
    tasks.clear();
    wake.notify_all();
    // NVRTC must not lose its static state in the middle of a compile.
    idle.wait_for(lock, std::chrono::seconds(60), [this] { return busy == 0; });
  }
};

Pool& pool() {
  static auto* instance = new Pool;
  return *instance;
}

}  // namespace

void runOnCompilePool(std::function<void()> task) {
  Pool& p = pool();
  std::unique_lock lock(p.mutex);
  if (p.stop) return;
  p.tasks.push_back(std::move(task));
  if (p.waiting >= p.tasks.size() || p.threads == Pool::limit()) {
    p.wake.notify_one();
    return;
  }
  const bool first = p.threads++ == 0;
  std::thread([&p] { p.run(); }).detach();
  lock.unlock();
  if (first) atProcessExit([&p] { p.halt(); });
}

}  // namespace mercer
