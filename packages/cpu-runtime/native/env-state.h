// What one JS environment shares with the pool: settled promises, references to drop, the end.
#pragma once

#include <node_api.h>

#include <memory>
#include <mutex>
#include <vector>

namespace mercer::cpu {

class Stream;

struct Settled {
  napi_deferred deferred;
  bool outOfMemory;
};

class EnvState : public std::enable_shared_from_this<EnvState> {
 public:
  static std::shared_ptr<EnvState> create(napi_env env);
  static EnvState& of(napi_env env);

  // JS thread.
  napi_value addPromise(napi_deferred* deferred);
  napi_value resolvedPromise();
  void dropReferences();
  void close();

  // Any thread. Nothing happens after the environment is closing.
  void settle(const Settled& settled);
  void release(std::vector<napi_ref>& references);
  void release(napi_ref reference);
  void wake();

  napi_env env() const { return env_; }

  // JS thread.
  napi_ref errorClass = nullptr;

  // Guarded by the pool's lock.
  std::vector<std::weak_ptr<Stream>> streams;
  size_t running = 0;
  bool ended = false;

 private:
  explicit EnvState(napi_env env) : env_(env) {}
  static void onWake(napi_env env, napi_value callback, void* context, void* data);
  void settlePromises();

  napi_env env_;
  napi_threadsafe_function wakeUp_ = nullptr;
  size_t pendingPromises_ = 0;  // JS thread

  std::mutex mutex_;
  std::vector<Settled> settled_;
  std::vector<napi_ref> released_;
  bool wakePending_ = false;
  bool closing_ = false;
};

}  // namespace mercer::cpu
