// One piece of work is open at a time. Its fields are written while it is closed and no helper looks at it; `looking` is raised before
// `open` is read, and `open` is cleared before `looking` is read, so a helper that finds it open is waited for. All these are
// sequentially consistent. Helpers allocate nothing: the C library that the module is linked with knows no threads.
#include "team.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "../error.h"
#include "../share.h"
#include "exports.h"

// Has another instance of the module call `help`, with its stack below this address. It may come late, or never.
MERCER_IMPORT(start_helper) void mercerStartHelper(void* stack);

namespace mercer::cpu::wasm {

namespace {

constexpr size_t kAlign = 64;
// Rounds of looking before a thread sleeps, some 20 microseconds.
constexpr int kRounds = 4000;

struct Work {
  KernelFn kernel;
  const void* context;
  int64_t tasks, chunk;
  size_t helpers;  // those with scratch memory for it
};

Work work;
std::atomic<int64_t> next{0};
std::atomic<uint32_t> open{0};
std::atomic<uint32_t> looking{0};  // helpers
std::atomic<uint32_t> turn{0};     // changes when work is opened
std::atomic<uint32_t> failed{0};   // a helper ended inside the work
std::atomic<uint32_t> ready{0};    // helpers that came
std::atomic<uint32_t> helped{0};   // pieces of work in which helpers did something

size_t wanted = 1;
size_t started = 0;
bool busy = false;  // from before some work is opened until its last helper left
bool maySleep = false;
Staging scratches[kMostThreads];

void sleepWhile(std::atomic<uint32_t>& word, uint32_t value) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(value), -1);
}

void wakeAll(std::atomic<uint32_t>& word) { __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), ~0u); }

// Waits until `done` says yes to the value of the word.
template <class Done>
void await(std::atomic<uint32_t>& word, bool sleep, Done done) {
  int rounds = 0;
  for (uint32_t seen = word.load(); !done(seen); seen = word.load())
    if (++rounds > kRounds && sleep) sleepWhile(word, seen);
}

// Takes chunks until there are none.
bool takeChunks(void* scratch) {
  bool any = false;
  for (int64_t begin; (begin = next.fetch_add(work.chunk)) < work.tasks; any = true)
    work.kernel(work.context, begin, std::min(begin + work.chunk, work.tasks), scratch);
  return any;
}

void leave() {
  if (looking.fetch_sub(1) == 1) wakeAll(looking);
}

void close() {
  open.store(0);
  await(looking, maySleep, [](uint32_t count) { return count == 0; });
  busy = false;
}

void startHelpers() {
  for (; started + 1 < wanted; ++started) {
    void* const stack = std::aligned_alloc(kAlign, MERCER_STACK_BYTES);
    if (stack == nullptr) return;
    mercerStartHelper(static_cast<char*>(stack) + MERCER_STACK_BYTES);
  }
}

}  // namespace

size_t roundUp(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

void* Staging::reserve(size_t wanted) {
  if (wanted <= bytes_ && data_ != nullptr) return data_;
  std::free(data_);
  bytes_ = roundUp(std::max<size_t>(wanted, 1));
  data_ = std::aligned_alloc(kAlign, bytes_);
  if (data_ == nullptr) bytes_ = 0;
  return data_;
}

void runShared(KernelFn kernel, const void* context, int64_t tasks, int64_t chunk, size_t scratchBytes, void* scratch) {
  chunk = std::clamp<int64_t>(chunk, 1, std::max<int64_t>(1, tasks));
  size_t helpers = 0;
  if (!busy && wanted > 1 && tasks > chunk) {
    startHelpers();
    const size_t most = std::min<size_t>(ready.load(), wanted - 1);
    while (helpers < most && scratches[helpers].reserve(scratchBytes) != nullptr) ++helpers;
  }
  if (helpers == 0) {
    for (int64_t begin = 0; begin < tasks; begin += chunk)
      kernel(context, begin, std::min(begin + chunk, tasks), scratch);
    return;
  }
  busy = true;
  work = {kernel, context, tasks, chunk, helpers};
  next.store(0);
  open.store(1);
  turn.fetch_add(1);
  wakeAll(turn);
  takeChunks(scratch);
  close();
  if (failed.exchange(0) != 0)
    fail("INTERNAL", "a launch failed: one of the threads that ran it ended, as by an address outside the memory.");
}

}  // namespace mercer::cpu::wasm

namespace mercer::cpu {

size_t sharingThreads() { return wasm::wanted; }

void share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch) {
  wasm::runShared(kernel, &context, tasks, 1, scratchBytes, scratch);
}

}  // namespace mercer::cpu

namespace mercer::cpu::wasm {

// `sleep`: whether the launching thread may wait for a change of memory, as that of a page may not.
MERCER_EXPORT(set_threads) void setThreads(size_t threads, int32_t sleep) {
  wanted = threads;
  maySleep = sleep != 0;
}

// What a helper does as long as there is one.
MERCER_EXPORT(help) void help() {
  const size_t index = ready.fetch_add(1);
  for (;;) {
    const uint32_t seen = turn.load();
    looking.fetch_add(1);
    if (open.load() != 0 && index < work.helpers && takeChunks(scratches[index].data())) helped.fetch_add(1);
    leave();
    await(turn, true, [seen](uint32_t now) { return now != seen; });
  }
}

// A helper that leaves `help` by an error tells it.
MERCER_EXPORT(helper_failed) void helperFailed() {
  failed.store(1);
  next.store(INT64_MAX / 2);
  leave();
}

// The launching thread left the module by an error.
MERCER_EXPORT(abandon) void abandon() {
  if (!busy) return;
  next.store(INT64_MAX / 2);
  close();
  failed.store(0);
}

// Helpers that came, and how often they did something.
MERCER_EXPORT(helpers_ready) uint32_t helpersReady() { return ready.load(); }
MERCER_EXPORT(times_helped) uint32_t timesHelped() { return helped.load(); }

}  // namespace mercer::cpu::wasm
