// Queues of work. Everything here but Launch::next and Stream::inFlight is guarded by the pool's lock.
#pragma once

#include <node_api.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "env-state.h"
#include "host-memory.h"
#include "image.h"

namespace mercer::cpu {

class Stream;
struct Graph;

// A launch's own copy of its parameters, 64-byte aligned, mostly without an allocation.
class Params {
 public:
  void assign(const void* bytes, size_t size);
  // The same behind `headerSize` bytes.
  void assign(const void* header, size_t headerSize, const void* bytes, size_t size);
  const void* data() const { return heap_ ? heap_->data() : inline_; }

 private:
  static constexpr size_t kInline = 192;
  alignas(kAlignment) uint8_t inline_[kInline];
  std::shared_ptr<HostMemory> heap_;
};

struct Launch {
  KernelFn kernel = nullptr;
  int64_t tasks = 0;
  int64_t chunk = 1;
  size_t scratchBytes = 0;
  Params params;

  // Kept until the launch is done.
  std::shared_ptr<Image> image;
  std::shared_ptr<const void> program;
  std::vector<std::shared_ptr<HostMemory>> memory;
  std::vector<napi_ref> references;
  std::shared_ptr<Stream> stream;  // set while running
  bool inner = false;  // shared by a kernel that runs: lies on its thread's stack, and is no op of the stream

  std::atomic<int64_t> next{0};    // first task that nobody claimed
  std::atomic<uint32_t> users{0};  // pool threads inside; changed under the lock
  bool exhausted() const { return next.load(std::memory_order_relaxed) >= tasks; }
};

// Work captured from a stream. Launches of it keep it, and with it the references.
struct Graph {
  explicit Graph(std::shared_ptr<EnvState> env) : env(std::move(env)) {}
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  std::shared_ptr<EnvState> env;
  std::vector<std::unique_ptr<Launch>> launches;
  // Counts calls that end the passes which are enqueued.
  mutable std::atomic<uint64_t> stops{0};
};

// Numbers that say whether there is a next pass: there is while one of them is 0. Whoever enqueues passes keeps the memory.
struct Rests {
  const double* numbers = nullptr;
  size_t count = 0;
  bool ends() const;
};

// A graph that is run, launch after launch, once or several times, with another graph between two times. It has launches of its own,
// since the same graph may wait in several streams; those are used again in every pass.
class Passes {
 public:
  Passes(std::shared_ptr<const Graph> graph, std::shared_ptr<const Graph> between, int64_t times, Rests rests);
  // The launch that comes next; null behind the last one. The one before is done.
  Launch* next();

 private:
  bool isLast();

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Graph> between_;
  std::vector<std::unique_ptr<Launch>> launches_;  // of the graph, then those between
  size_t end_ = 0;                                 // of a pass
  size_t at_ = 0;
  int64_t left_;
  Rests rests_;
  uint64_t stops_;
};

struct Event {
  bool fired = false;
  std::chrono::steady_clock::time_point time;
  std::vector<std::shared_ptr<Stream>> waiters;
  std::vector<std::pair<std::shared_ptr<EnvState>, napi_deferred>> listeners;
};

struct Op {
  enum class Kind { kLaunch, kPasses, kRecord, kWait, kNotify };
  Kind kind;
  std::unique_ptr<Launch> launch;
  std::shared_ptr<Event> event;
  napi_deferred deferred = nullptr;
  std::unique_ptr<Passes> passes = nullptr;

  bool isWork() const { return kind == Kind::kLaunch || kind == Kind::kPasses; }
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<EnvState> env) : env(std::move(env)) {}
  std::shared_ptr<EnvState> env;
  std::shared_ptr<Graph> capture;  // JS thread: launches go here instead
  std::deque<Op> ops;
  bool blocked = false;  // the head runs, or waits for an event
  bool outOfMemory = false;
  int64_t servedNs = 0;  // thread time received, on the pool's virtual clock
  std::atomic<int64_t> inFlight{0};  // launches and graphs enqueued and not done
};

}  // namespace mercer::cpu
