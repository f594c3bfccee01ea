// A fake NCCL of any version (-DFAKE_VERSION=22304) for ranks of one process, on the fake driver's streams and memory. Its results of joining and
// of calls arrive later, as those of communicators that do not block.
#include <cstring>

#include "calls.h"
#include "state.h"

using namespace fake;

namespace {

constexpr int kInvalidArgument = 4, kInProgress = 7;

struct UniqueId {
  char internal[128];
};

struct Config {
  size_t size;
  unsigned magic, version;
  int blocking;
};

/// One call of all ranks.
struct Round {
  std::vector<const void*> inputs;
  int read = 0, arrived = 0;
};

struct Group {
  std::mutex mutex;
  std::condition_variable changed;
  int size = 0, joined = 0;
  std::map<uint64_t, Round> rounds;
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank;
  uint64_t calls = 0;
  std::atomic<bool> aborted{false};
  std::atomic<int> polls{0};
};

using Handle = std::shared_ptr<Comm>*;

std::mutex& groupsMutex() {
  static auto* instance = new std::mutex;
  return *instance;
}

std::shared_ptr<Group> groupOf(const UniqueId& id) {
  static auto* groups = new std::map<std::string, std::shared_ptr<Group>>;
  std::lock_guard lock(groupsMutex());
  auto& group = (*groups)[std::string(id.internal, sizeof id.internal)];
  if (!group) group = std::make_shared<Group>();
  return group;
}

size_t bytesOf(int type) {
  static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return bytes[type];
}

template <typename T>
void reduce(const std::vector<const void*>& inputs, std::vector<char>& output, size_t count, int op) {
  for (size_t i = 0; i < count; i++) {
    T result = static_cast<const T*>(inputs[0])[i];
    for (size_t rank = 1; rank < inputs.size(); rank++) {
      const T next = static_cast<const T*>(inputs[rank])[i];
      if (op == 1)
        result *= next;
      else if (op == 2)
        result = next > result ? next : result;
      else if (op == 3)
        result = next < result ? next : result;
      else
        result += next;
    }
    if (op == 4) result /= static_cast<T>(inputs.size());
    std::memcpy(output.data() + i * sizeof(T), &result, sizeof(T));
  }
}

/// Enqueues what all ranks do when the last has come: `compute` gets their inputs, and its result goes to the output when all have read.
void enqueue(Comm& comm, const std::shared_ptr<Comm>& self, Stream* stream, const void* input, void* output,
             std::function<std::vector<char>(const std::vector<const void*>&)> compute) {
  const uint64_t call = comm.calls++;
  comm.polls = 0;
  stream->add([self, input, output, call, compute = std::move(compute)] {
    Group& group = *self->group;
    std::unique_lock lock(group.mutex);
    Round& round = group.rounds[call];
    round.inputs.resize(group.size);
    round.inputs[self->rank] = input;
    round.arrived++;
    group.changed.notify_all();
    const auto wait = [&](auto ready) { group.changed.wait(lock, [&] { return self->aborted || ready(); }); };
    wait([&] { return round.arrived == group.size; });
    if (self->aborted) return;
    const std::vector<char> result = compute(round.inputs);
    round.read++;
    group.changed.notify_all();
    wait([&] { return round.read == group.size; });
    if (!self->aborted) std::memcpy(output, result.data(), result.size());
  });
}

}  // namespace

FAKE ncclGetVersion(int* version) {
  *version = FAKE_VERSION;
  return 0;
}

extern "C" __attribute__((visibility("default"))) const char* ncclGetErrorString(int) {
  return "a result of the fake library";
}

FAKE ncclGetUniqueId(UniqueId* id) {
  static std::atomic<int> last{0};
  std::memset(id, 0, sizeof *id);
  std::snprintf(id->internal, sizeof id->internal, "fake %d %d", getpid(), ++last);
  return called("uniqueId");
}

FAKE ncclCommInitRankConfig(Handle* handle, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->blocking != 0) return kInvalidArgument;
  if (const int status = called("commInit", size, rank)) return status;
  auto group = groupOf(id);
  std::lock_guard lock(group->mutex);
  if (group->size && group->size != size) return kInvalidArgument;
  group->size = size;
  group->joined++;
  *handle = new std::shared_ptr<Comm>(new Comm{group, rank});
  return kInProgress;
}

FAKE ncclCommGetAsyncError(Handle handle, int* result) {
  Comm& comm = **handle;
  std::lock_guard lock(comm.group->mutex);
  const bool all = comm.group->joined >= comm.group->size;
  // Each call ends some polls after it was made.
  *result = all && comm.polls++ > 2 ? called("asyncError") : kInProgress;
  return 0;
}

FAKE ncclCommFinalize(Handle) { return called("finalize"); }

FAKE ncclCommDestroy(Handle handle) {
  delete handle;
  return called("destroy");
}

FAKE ncclCommAbort(Handle handle) {
  Comm& comm = **handle;
  {
    std::lock_guard lock(comm.group->mutex);
    comm.aborted = true;
    comm.group->changed.notify_all();
  }
  delete handle;
  return called("abort");
}

FAKE ncclAllReduce(const void* input, void* output, size_t count, int type, int op, Handle handle, Stream* stream) {
  if (const int status = called("allReduce", count, type, op)) return status;
  enqueue(**handle, *handle, stream, input, output, [=](const std::vector<const void*>& inputs) {
    std::vector<char> result(count * bytesOf(type));
    if (type == 8) reduce<double>(inputs, result, count, op);
    if (type == 7) reduce<float>(inputs, result, count, op);
    if (type == 4) reduce<int64_t>(inputs, result, count, op);
    if (type == 2) reduce<int32_t>(inputs, result, count, op);
    return result;
  });
  return kInProgress;
}

FAKE ncclAllGather(const void* input, void* output, size_t count, int type, Handle handle, Stream* stream) {
  if (const int status = called("allGather", count, type)) return status;
  enqueue(**handle, *handle, stream, input, output, [=](const std::vector<const void*>& inputs) {
    std::vector<char> result;
    for (const void* one : inputs) {
      const auto* bytes = static_cast<const char*>(one);
      result.insert(result.end(), bytes, bytes + count * bytesOf(type));
    }
    return result;
  });
  return kInProgress;
}
