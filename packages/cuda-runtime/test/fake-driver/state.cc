#include "state.h"

#include <algorithm>
#include <cstring>

#include "calls.h"

namespace fake {

std::vector<Device*>& devices() {
  static auto* list = new std::vector<Device*>;
  return *list;
}

Device*& current() {
  static thread_local Device* device = nullptr;
  return device;
}

int contextStatus() {
  if (devices().empty()) return kNotInitialized;
  if (!current()) return kInvalidContext;
  while (current()->locked) std::this_thread::sleep_for(std::chrono::microseconds(100));
  return current()->fault;
}

size_t Graph::newId() {
  static std::atomic<size_t> last{0};
  return ++last;
}

Graph*& Graph::of(size_t address) {
  static auto* all = new std::map<size_t, Graph*>;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  return (*all)[address >> 24];
}

void Graph::add(Task task) {
  std::vector<size_t> after;
  for (const size_t end : ends) after.push_back(numberOf(end) - 1);
  nodes.push_back({std::move(task), std::move(after)});
  ends = {address(nodes.size())};
}

void Graph::run() const {
  for (const size_t node : line)
    if (nodes[node].task) nodes[node].task();
}

void Graph::putInLine() {
  for (const auto& body : bodies)
    if (body->line.empty()) body->putInLine();
  std::vector<bool> done(nodes.size());
  while (line.size() < nodes.size()) {
    for (size_t i = nodes.size(); i-- > 0;) {
      if (done[i]) continue;
      const auto& after = nodes[i].after;
      if (!std::all_of(after.begin(), after.end(), [&](size_t one) { return done[one]; })) continue;
      done[i] = true;
      line.push_back(i);
      break;
    }
  }
}

void Stream::add(Task task) {
  std::lock_guard lock(mutex);
  if (capture) {
    const size_t number = capture->nodes.size();
    capture->add(std::move(task));
    std::ostringstream list;
    for (const size_t one : capture->nodes.back().after) list << ' ' << one;
    called("captured", number, list.str());
    return;
  }
  tasks.push_back(std::move(task));
  changed.notify_all();
}

void Stream::run() {
  std::unique_lock lock(mutex);
  for (;;) {
    if (tasks.empty()) {
      if (closing) break;
      changed.wait(lock);
      continue;
    }
    Task task = std::move(tasks.front());
    tasks.pop_front();
    busy = true;
    lock.unlock();
    // After a fault nothing runs any more, host callbacks included.
    if (!device->fault) task();
    task = nullptr;
    lock.lock();
    busy = false;
    changed.notify_all();
  }
  lock.unlock();
  {
    std::lock_guard guard(device->streamsMutex);
    device->streams.erase(this);
  }
  counters().streams--;
  delete this;
}

bool Stream::idle() {
  std::lock_guard lock(mutex);
  return tasks.empty() && !busy;
}

void Stream::drain() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return tasks.empty() && !busy; });
}

void Device::drain() {
  for (;;) {
    {
      std::lock_guard lock(streamsMutex);
      bool idle = true;
      for (auto* stream : streams) idle = idle && stream->idle();
      if (idle || fault) return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void Device::settle() {
  std::lock_guard lock(mutex);
  unsettled = 0;
}

int Device::allocate(uint64_t* address, uint64_t bytes, bool pooled) {
  std::lock_guard lock(mutex);
  const uint64_t after = pooled ? std::max(reserved, used + bytes) + plain : reserved + plain + bytes;
  if (after > total()) return kOutOfMemory;
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes)) return kOutOfMemory;  // aligned as the real driver's
  // What calls read back of kernels that never ran is the same every time: zeros.
  if (bytes <= 1 << 16) std::memset(memory, 0, bytes);
  if (pooled) {
    used += bytes;
    reserved = std::max(reserved, used);
  } else {
    plain += bytes;
  }
  *address = reinterpret_cast<uint64_t>(memory);
  allocations[*address] = bytes;
  counters().buffers++;
  return 0;
}

int Device::release(uint64_t address, bool pooled) {
  std::lock_guard lock(mutex);
  const auto found = allocations.find(address);
  if (found == allocations.end()) return kInvalidValue;
  (pooled ? used : plain) -= found->second;
  if (pooled) unsettled += found->second;
  allocations.erase(found);
  std::free(reinterpret_cast<void*>(address));
  counters().buffers--;
  return 0;
}

bool Device::contains(uint64_t address, uint64_t bytes) {
  std::lock_guard lock(mutex);
  auto found = allocations.upper_bound(address);
  if (found == allocations.begin()) return false;
  --found;
  return address + bytes <= found->first + found->second;
}

}  // namespace fake
