// The pool under ThreadSanitizer, without Node: several threads play JS environments, each with streams, events across
// streams, references and promises, ended in the middle of their work. N-API is played by the functions below.
#include <node_api.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "env-state.h"
#include "pool.h"

namespace {

struct FakeEnv {
  std::shared_ptr<mercer::cpu::EnvState>* data = nullptr;
  void (*hook)(void*) = nullptr;
  void* hookData = nullptr;
  napi_threadsafe_function_call_js call = nullptr;
  void* context = nullptr;
  std::atomic<int> wakes{0};
  std::atomic<int> references{0};
  std::atomic<int> resolved{0};
  std::atomic<bool> released{false};
};

FakeEnv* fake(napi_env env) { return reinterpret_cast<FakeEnv*>(env); }

void require(bool yes, const char* what) {
  if (yes) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" {
napi_status napi_create_string_utf8(napi_env, const char*, size_t, napi_value*) { return napi_ok; }
napi_status napi_create_threadsafe_function(napi_env env, napi_value, napi_value, napi_value,
                                            size_t, size_t, void*, napi_finalize, void* context,
                                            napi_threadsafe_function_call_js call,
                                            napi_threadsafe_function* result) {
  fake(env)->call = call;
  fake(env)->context = context;
  *result = reinterpret_cast<napi_threadsafe_function>(env);
  return napi_ok;
}
napi_status napi_call_threadsafe_function(napi_threadsafe_function function, void*,
                                          napi_threadsafe_function_call_mode) {
  auto* env = reinterpret_cast<FakeEnv*>(function);
  require(!env->released.load(), "a closed environment is not woken");
  env->wakes.fetch_add(1);
  return napi_ok;
}
napi_status napi_release_threadsafe_function(napi_threadsafe_function function,
                                             napi_threadsafe_function_release_mode) {
  reinterpret_cast<FakeEnv*>(function)->released.store(true);
  return napi_ok;
}
napi_status napi_ref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }
napi_status napi_unref_threadsafe_function(napi_env, napi_threadsafe_function) { return napi_ok; }
napi_status napi_set_instance_data(napi_env env, void* data, napi_finalize, void*) {
  fake(env)->data = static_cast<std::shared_ptr<mercer::cpu::EnvState>*>(data);
  return napi_ok;
}
napi_status napi_get_instance_data(napi_env env, void** data) {
  *data = fake(env)->data;
  return napi_ok;
}
napi_status napi_add_env_cleanup_hook(napi_env env, napi_cleanup_hook hook, void* data) {
  fake(env)->hook = hook;
  fake(env)->hookData = data;
  return napi_ok;
}
napi_status napi_create_promise(napi_env, napi_deferred* deferred, napi_value*) {
  *deferred = reinterpret_cast<napi_deferred>(8);
  return napi_ok;
}
napi_status napi_get_undefined(napi_env, napi_value*) { return napi_ok; }
napi_status napi_resolve_deferred(napi_env env, napi_deferred, napi_value) {
  fake(env)->resolved.fetch_add(1);
  return napi_ok;
}
napi_status napi_reject_deferred(napi_env, napi_deferred, napi_value) { return napi_ok; }
napi_status napi_delete_reference(napi_env env, napi_ref) {
  fake(env)->references.fetch_sub(1);
  return napi_ok;
}
napi_status napi_get_reference_value(napi_env, napi_ref, napi_value*) { return napi_ok; }
napi_status napi_new_instance(napi_env, napi_value, size_t, const napi_value*, napi_value*) {
  return napi_ok;
}
napi_status napi_create_error(napi_env, napi_value, napi_value, napi_value*) { return napi_ok; }
napi_status napi_throw(napi_env, napi_value) { return napi_ok; }
}

namespace {

using namespace mercer::cpu;

constexpr int64_t kTasks = 40;

struct Args {
  int64_t* data;
  int64_t expected;
};

// Not atomic on purpose: order between launches must come from the stream, or the sanitizer sees it.
void addOnce(const void* raw, int64_t begin, int64_t end, void* scratch) {
  const Args& args = *static_cast<const Args*>(raw);
  std::memset(scratch, 1, 256);
  for (int64_t i = begin; i < end; ++i) {
    require(args.data[i] == args.expected, "every task ran once in the launch before");
    args.data[i] += 1;
  }
}

// One task that shares its work, of which some tasks share theirs.
void addShared(const void* raw, int64_t, int64_t, void* scratch) {
  const auto one = [](const void* context, int64_t begin, int64_t end, void* scratch) {
    const auto& args = **static_cast<const Args* const*>(context);
    addOnce(&args, begin, end, scratch);
    if (begin % 8 != 0) return;
    int64_t parts[5] = {};
    const auto part = [](const void* context, int64_t begin, int64_t, void* scratch) {
      std::memset(scratch, 2, 128);
      (*static_cast<int64_t* const*>(context))[begin] += 1;
    };
    Pool::get().share(part, parts, 5, 128, scratch);
    for (int64_t count : parts) require(count == 1, "every part was done once before the end");
  };
  Pool::get().share(one, raw, kTasks, 256, scratch);
}

Op launchOp(const std::shared_ptr<HostMemory>& memory, bool shared, int64_t expected, FakeEnv& env) {
  auto launch = std::make_unique<Launch>();
  const Args args{static_cast<int64_t*>(memory->data()), expected};
  launch->params.assign(&args, sizeof args);
  launch->kernel = shared ? addShared : addOnce;
  launch->tasks = shared ? 1 : kTasks;
  launch->chunk = 3;
  launch->scratchBytes = 256;
  launch->memory.push_back(memory);
  launch->references.push_back(reinterpret_cast<napi_ref>(8));
  env.references.fetch_add(1);
  return Op{Op::Kind::kLaunch, std::move(launch), nullptr, nullptr};
}

void environment(int rounds, bool finish) {
  Pool& pool = Pool::get();
  FakeEnv env;
  auto state = EnvState::create(reinterpret_cast<napi_env>(&env));
  const auto turn = [&] {
    if (env.wakes.exchange(0) != 0) env.call(reinterpret_cast<napi_env>(&env), nullptr, env.context, nullptr);
  };
  std::vector<std::shared_ptr<Stream>> streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(std::make_shared<Stream>(state));
    pool.registerStream(streams.back());
  }
  auto memory = HostMemory::allocate(kTasks * sizeof(int64_t));
  std::shared_ptr<Event> last;
  int promises = 0;
  for (int round = 0; round < rounds; ++round) {
    auto& stream = streams[static_cast<size_t>(round) % streams.size()];
    if (last) pool.enqueue(stream, Op{Op::Kind::kWait, nullptr, last, nullptr});
    pool.enqueue(stream, launchOp(memory, round % 3 == 0, round, env));
    last = std::make_shared<Event>();
    pool.enqueue(stream, Op{Op::Kind::kRecord, nullptr, last, nullptr});
    if (round % 5 == 0) {
      napi_deferred deferred;
      state->addPromise(&deferred);
      ++promises;
      pool.enqueue(stream, Op{Op::Kind::kNotify, nullptr, nullptr, deferred});
    }
    if (round % 50 == 0) {
      streams[2] = std::make_shared<Stream>(state);  // the old one runs out by itself
      pool.registerStream(streams[2]);
    }
    turn();
  }
  if (finish) {
    while (!pool.fired(*last) || env.resolved.load() < promises) {
      turn();
      std::this_thread::yield();
    }
    for (int64_t i = 0; i < kTasks; ++i)
      require(static_cast<int64_t*>(memory->data())[i] == rounds, "every launch ran");
  }
  last.reset();
  env.hook(env.hookData);
  require(env.references.load() == 0, "every reference was dropped");
  streams.clear();
  delete env.data;
  state.reset();
}

}  // namespace

int main() {
  Pool::get().setThreads(4);
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i)
    threads.emplace_back([i] {
      for (int repeat = 0; repeat < 6; ++repeat) environment(150 + 10 * i, (i + repeat) % 2 == 0);
    });
  for (size_t size : {1u, 6u, 2u, 8u, 4u}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Pool::get().setThreads(size);
  }
  for (auto& thread : threads) thread.join();
  // Pool threads drop what the last launches kept a moment after the environments saw them done.
  for (int i = 0; i < 1000 && HostMemory::liveBuffers.load() != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  require(HostMemory::liveBuffers.load() == 0, "all memory was given back");
  std::puts("ok");
}
