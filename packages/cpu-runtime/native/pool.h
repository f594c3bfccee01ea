// The process's threads and the one lock that guards streams. See DESIGN.md.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "env-state.h"
#include "stream.h"

namespace mercer::cpu {

// What must happen after the lock is released.
struct Effects {
  std::vector<Op> dead;
  std::vector<std::shared_ptr<Stream>> ready;
  std::vector<std::shared_ptr<Stream>> visited;  // a stream must not die under the lock
  std::vector<std::shared_ptr<EnvState>> wake;
  bool newWork = false;

  bool any() const { return !dead.empty() || !visited.empty() || !wake.empty() || newWork; }
};

class Pool {
 public:
  static Pool& get();

  // JS threads.
  void enqueue(const std::shared_ptr<Stream>& stream, Op&& op);
  void registerStream(const std::shared_ptr<Stream>& stream);
  bool idle(Stream& stream);
  // False, and nothing done, when the event fired already.
  bool listen(Event& event, const std::shared_ptr<EnvState>& env, napi_deferred deferred);
  bool fired(Event& event);
  // A failure that no promise has carried yet.
  bool failed(Stream& stream);
  void closeEnvironment(EnvState& env);

  // From inside a kernel on a pool thread: runs `kernel(&context, i, i + 1, scratch)` for every i below `tasks`, on this thread
  // with its `scratch` and on idle ones of the pool with `scratchBytes` of their own. Returns when all are done. Waits only for
  // tasks that other threads began, never for a thread to become idle, so it cannot deadlock.
  void share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch);

  size_t threads();
  void setThreads(size_t threads);
  // Only where nobody decided yet.
  void suggestThreads(size_t threads);

  std::atomic<uint64_t> fpViolations{0};

 private:
  Pool() = default;

  void run(size_t index);
  static void* threadMain(void* argument);
  bool work(Launch& launch, Scratch& scratch);
  Launch* pick();
  void leave(Launch& launch, bool ok, Effects& effects);
  void finish(Launch* launch, Effects& effects);
  void forget(Launch* launch);
  void advance(const std::shared_ptr<Stream>& stream, Effects& effects);
  void begin(Launch& launch, const std::shared_ptr<Stream>& stream, Effects& effects);
  void advanceAll(Effects& effects);
  void fire(Event& event, Effects& effects);
  void apply(Effects& effects);
  void ensureThreads();
  void wakeOne();
  void park(uint32_t seen);

  std::mutex mutex_;
  std::condition_variable ended_;
  std::condition_variable shared_;  // the last helper left some shared launch
  std::vector<Launch*> active_;
  int64_t virtualNs_ = 0;  // service of the stream picked last
  std::vector<bool> alive_;
  size_t target_ = 0;  // 0: not decided yet
  bool started_ = false;

  std::atomic<size_t> activeCount_{0};
  std::atomic<uint32_t> signal_{0};
  std::atomic<uint32_t> spinning_{0};
  std::atomic<uint32_t> sleeping_{0};
  std::atomic<uint32_t> maxSpinning_{1};
};

}  // namespace mercer::cpu
