// State of the fake driver: devices that are plain memory, streams that are threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#define FAKE extern "C" __attribute__((visibility("default"))) int

namespace fake {

constexpr int kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kNoDevice = 100, kInvalidContext = 201,
              kInvalidImage = 200, kNotFound = 500, kNotReady = 600, kIllegalAddress = 700, kPeerEnabled = 704,
              kNotSupported = 801, kCaptureUnsupported = 900, kCaptureInvalid = 901,
              kCaptureUnjoined = 904;

/// A setting, read anew every time: MERCER_FAKE_<name>.
inline long setting(const char* name, long otherwise) {
  const char* text = std::getenv((std::string("MERCER_FAKE_") + name).c_str());
  return text && *text ? std::atol(text) : otherwise;
}

/// Numbers of live objects and of calls; read through attributes from 10000 on.
struct Counters {
  std::atomic<int> streams{0}, events{0}, buffers{0}, pinned{0}, modules{0}, graphs{0}, execs{0}, launches{0},
      hostCalls{0}, trims{0}, pools{0}, contexts{0};
};
inline Counters& counters() {
  static auto* instance = new Counters;
  return *instance;
}

using Task = std::function<void()>;

struct Device;

/// Captured tasks, each with the tasks that it follows.
struct Graph {
  struct Node {
    Task task;
    std::vector<size_t> after;
  };
  /// Of a graph and its executable forms.
  size_t id = newId();
  std::vector<Node> nodes;
  /// Of loops, which executable forms share.
  std::vector<std::shared_ptr<Graph>> bodies;
  /// What is captured next follows these.
  std::vector<size_t> ends;
  /// Of an executable form: the order in which a launch runs them.
  std::vector<size_t> line;

  static size_t newId();
  /// A node's address: its graph, and its number from 1 on.
  size_t address(size_t number) const { return id << 24 | number; }
  static size_t numberOf(size_t address) { return address & 0xffffff; }
  /// The graph of a node.
  static Graph*& of(size_t address);

  void add(Task task);
  void run() const;
  /// Chooses an order that the edges allow, the last captured first: what they do not say is done the wrong way round.
  void putInLine();
};

struct Stream {
  Device* device;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Task> tasks;
  bool busy = false, closing = false;
  Graph* capture = nullptr;

  void add(Task task);
  void run();
  void drain();
  bool idle();
};

struct Event {
  Device* device;
  bool timing;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t recorded = 0, reached = 0;
  std::chrono::steady_clock::time_point at{};
};

struct Device {
  int index;
  std::mutex mutex;  // memory
  std::map<uint64_t, uint64_t> allocations;
  uint64_t used = 0, reserved = 0, threshold = 0, plain = 0;
  uint64_t unsettled = 0;  // freed, but not yet known free: no synchronisation since
  std::atomic<int> fault{0};
  std::atomic<bool> locked{false};  // a synchronising free keeps other callers out, as in the real driver
  std::mutex streamsMutex;
  std::set<Stream*> streams;
  std::set<Device*> peers;

  uint64_t total() const { return static_cast<uint64_t>(setting("TOTAL_BYTES", 1l << 30)); }
  int allocate(uint64_t* address, uint64_t bytes, bool pooled);
  int release(uint64_t address, bool pooled);
  bool contains(uint64_t address, uint64_t bytes);
  void drain();
  void settle();
};

std::vector<Device*>& devices();
Device*& current();
bool isPinned(const void* memory);
/// 0, or the fault of the current context, or that there is none.
int contextStatus();

struct Kernel {
  std::string name;
  std::vector<size_t> params;
  bool untold = false;  // of a real binary, whose parameters the fake driver does not read
};
struct Module {
  Device* device;
  std::vector<std::unique_ptr<Kernel>> kernels;
  bool open = false;  // any kernel name is accepted: a real binary
};

}  // namespace fake
