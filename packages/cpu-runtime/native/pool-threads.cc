// The pool's threads: claiming chunks, sleeping, waking.
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <string>

#include "cpu-info.h"
#include "error.h"
#include "fp-control.h"
#include "pool.h"
#include "share.h"

namespace mercer::cpu {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kSpin = std::chrono::microseconds(20);
constexpr auto kSlice = std::chrono::microseconds(100);
constexpr int64_t kSliceNs = 100'000;
constexpr size_t kStackBytes = 8u << 20;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  __asm__ volatile("yield");
#endif
}

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation | FUTEX_PRIVATE_FLAG,
                 value, nullptr, nullptr, 0);
}

// The stream whose kernel this thread runs.
thread_local const std::shared_ptr<Stream>* served = nullptr;

struct ThreadStart {
  Pool* pool;
  size_t index;
};

}  // namespace

void* Pool::threadMain(void* argument) {
  std::unique_ptr<ThreadStart> start(static_cast<ThreadStart*>(argument));
  start->pool->run(start->index);
  return nullptr;
}

size_t Pool::threads() {
  std::lock_guard<std::mutex> lock(mutex_);
  return target_ != 0 ? target_ : availableCores();
}

void Pool::setThreads(size_t threads) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    target_ = threads;
    if (started_) {
      started_ = false;
      ensureThreads();
    }
  }
  // Threads beyond the target see it when they wake.
  signal_.fetch_add(1);
  futex(signal_, FUTEX_WAKE, INT_MAX);
}

void Pool::suggestThreads(size_t threads) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (target_ == 0) target_ = threads;
}

void Pool::ensureThreads() {
  if (started_) return;
  if (target_ == 0) target_ = availableCores();
  maxSpinning_.store(static_cast<uint32_t>(std::max<size_t>(1, target_ / 2)));
  if (alive_.size() < target_) alive_.resize(target_, false);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackBytes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);  // inherited by the new threads
  size_t alive = 0;
  for (size_t i = 0; i < target_; ++i) {
    if (!alive_[i]) {
      pthread_t thread;
      auto start = std::make_unique<ThreadStart>(ThreadStart{this, i});
      if (pthread_create(&thread, &attributes, threadMain, start.get()) == 0) {
        start.release();
        alive_[i] = true;
      }
    }
    if (alive_[i]) ++alive;
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  pthread_attr_destroy(&attributes);
  if (alive == 0)
    throw RuntimeError("THREADS_UNAVAILABLE",
                       "starting the CPU thread pool failed: no thread could be created. Raise "
                       "the limit on threads (ulimit -u, pids.max of the container).");
  started_ = true;
}

void Pool::run(size_t index) {
  setFpControl(kDefaultFpControl);
  char name[16];
  std::snprintf(name, sizeof name, "mercer-cpu-%zu", index % 1000);
  pthread_setname_np(pthread_self(), name);

  Scratch scratch;
  std::unique_lock<std::mutex> lock(mutex_);
  while (index < target_) {
    Launch* launch = pick();
    if (launch == nullptr) {
      const uint32_t seen = signal_.load();
      lock.unlock();
      park(seen);
      lock.lock();
      continue;
    }
    launch->users += 1;
    const bool shared = active_.size() > 1;
    const Clock::time_point start = shared ? Clock::now() : Clock::time_point{};
    if (shared) launch->stream->servedNs += kSliceNs;  // so that the next thread looks elsewhere
    const bool more = shared ||
                      launch->next.load(std::memory_order_relaxed) + launch->chunk < launch->tasks;
    lock.unlock();
    if (more) wakeOne();
    const bool ok = work(*launch, scratch);
    Effects effects;
    lock.lock();
    if (shared)
      launch->stream->servedNs +=
          std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count() -
          kSliceNs;
    leave(*launch, ok, effects);
    // this thread takes the next launch of the same passes itself, and wakes others where that has tasks for them
    if (effects.dead.empty()) effects.newWork = false;
    if (effects.any()) {
      lock.unlock();
      apply(effects);
      lock.lock();
    }
  }
  alive_[index] = false;
  const bool more = !active_.empty();
  lock.unlock();
  if (more) wakeOne();  // this thread may have taken the wake-up of another
}

// Claims chunks until there are none, or until other launches wait and the slice is over.
bool Pool::work(Launch& launch, Scratch& scratch) {
  if (!scratch.reserve(launch.scratchBytes)) {
    if (!launch.inner) launch.next.store(launch.tasks);
    return false;
  }
  served = &launch.stream;
  Clock::time_point start{};
  for (;;) {
    const int64_t begin = launch.next.fetch_add(launch.chunk, std::memory_order_relaxed);
    if (begin >= launch.tasks) break;
    const int64_t end = std::min(begin + launch.chunk, launch.tasks);
    launch.kernel(launch.params.data(), begin, end, scratch.data());
    if (activeCount_.load(std::memory_order_relaxed) > 1) {
      const Clock::time_point now = Clock::now();
      if (start == Clock::time_point{}) start = now - kSlice / 2;
      if (now - start >= kSlice) break;
    }
  }
  if (fpControl() != kDefaultFpControl) {
    setFpControl(kDefaultFpControl);
    fpViolations.fetch_add(1, std::memory_order_relaxed);
  }
  return true;
}

void Pool::share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch) {
  Launch inner;
  inner.kernel = kernel;
  inner.tasks = tasks;
  inner.scratchBytes = scratchBytes;
  inner.params.assign(&context, sizeof context);
  inner.stream = *served;
  inner.inner = true;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    active_.push_back(&inner);
    activeCount_.store(active_.size(), std::memory_order_relaxed);
  }
  wakeOne();
  for (;;) {
    const int64_t index = inner.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= tasks) break;
    kernel(inner.params.data(), index, index + 1, scratch);
  }
  const Clock::time_point until = Clock::now() + kSpin;
  while (inner.users.load(std::memory_order_relaxed) != 0 && Clock::now() < until) relax();
  std::unique_lock<std::mutex> lock(mutex_);
  forget(&inner);
  shared_.wait(lock, [&inner] { return inner.users.load() == 0; });
}

// The launch whose stream had the least thread time; forgets launches without unclaimed tasks.
Launch* Pool::pick() {
  Launch* best = nullptr;
  for (size_t i = 0; i < active_.size();) {
    Launch* launch = active_[i];
    if (launch->exhausted()) {
      active_[i] = active_.back();
      active_.pop_back();
      activeCount_.store(active_.size(), std::memory_order_relaxed);
      continue;
    }
    if (best == nullptr || launch->stream->servedNs < best->stream->servedNs) best = launch;
    ++i;
  }
  if (best != nullptr) virtualNs_ = std::max(virtualNs_, best->stream->servedNs);
  return best;
}

void Pool::wakeOne() {
  signal_.fetch_add(1);
  if (spinning_.load() == 0 && sleeping_.load() != 0) futex(signal_, FUTEX_WAKE, 1);
}

void Pool::park(uint32_t seen) {
  if (spinning_.fetch_add(1) < maxSpinning_.load(std::memory_order_relaxed)) {
    const Clock::time_point until = Clock::now() + kSpin;
    do {
      for (int i = 0; i < 32; ++i) {
        if (signal_.load(std::memory_order_relaxed) != seen) {
          spinning_.fetch_sub(1);
          return;
        }
        relax();
      }
    } while (Clock::now() < until);
  }
  spinning_.fetch_sub(1);
  sleeping_.fetch_add(1);
  while (signal_.load() == seen) futex(signal_, FUTEX_WAIT, seen);
  sleeping_.fetch_sub(1);
}

size_t sharingThreads() { return Pool::get().threads(); }

void share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch) {
  Pool::get().share(kernel, context, tasks, scratchBytes, scratch);
}

}  // namespace mercer::cpu
