#include "exit.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace mercer {
namespace {

std::atomic<bool> exitingFlag{false};

struct Stops {
  std::mutex mutex;
  std::vector<std::function<void()>> list;
};

Stops& stops() {
  static auto* instance = new Stops;
  return *instance;
}

void runStops() {
  exitingFlag.store(true);
  std::vector<std::function<void()>> list;
  {
    std::lock_guard lock(stops().mutex);
    list.swap(stops().list);
  }
  for (auto& stop : list) stop();
}

}  // namespace

bool exiting() noexcept { return exitingFlag.load(std::memory_order_relaxed); }

void atProcessExit(std::function<void()> stop) {
  {
    std::lock_guard lock(stops().mutex);
    stops().list.push_back(std::move(stop));
  }
  // Registered every time: the newest handler runs first, and only the first finds work to do.
  std::atexit(runStops);
}

}  // namespace mercer
