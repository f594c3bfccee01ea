// What one JavaScript environment (main thread or worker) owns.
#pragma once

#include <napi.h>

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../core/failure.h"
#include "../core/module.h"

namespace mercer {

/// How pending work ended: a failure, or a value made on the JavaScript thread, where `kept` are the
/// values that were kept reachable. No JavaScript value or reference may be captured: the function is
/// destroyed on any thread.
struct Outcome {
  std::optional<Failure> failure;
  std::function<Napi::Value(Napi::Env, const std::vector<Napi::Value>& kept)> value;
};

class Environment : public std::enable_shared_from_this<Environment> {
 public:
  /// Called once when the addon is loaded into an environment.
  static Environment& create(Napi::Env env);
  static Environment& of(Napi::Env env);

  /// A promise that some thread settles later, at most once, through the returned function.
  /// `kept` stays reachable until then; `cancel` runs if the environment ends first.
  struct Pending {
    Napi::Promise promise;
    std::function<void(Outcome)> settle;
  };
  Pending begin(std::vector<Napi::Value> kept, std::function<void()> cancel);
  size_t pendingCount() const { return pending_.size(); }

  Napi::Error makeError(const Failure& failure);
  void setErrorFactory(Napi::Function factory) { factory_ = Napi::Persistent(factory); }

  Napi::Value scratch();
  const LaunchGeometry& geometry() const { return *geometry_; }

  /// This environment's hold on devices, closed when it ends.
  std::vector<std::weak_ptr<DeviceUse>> uses;

 private:
  explicit Environment(Napi::Env env);
  struct Entry {
    Napi::Promise::Deferred deferred;
    std::vector<napi_ref> kept;
    std::function<void()> cancel;
  };

  void settle(uint64_t id, Outcome outcome);
  void deliver();
  void finish(Entry& entry, Outcome& outcome);
  void releaseKept(Entry& entry);
  void close();
  static void onCall(napi_env env, napi_value, void* context, void*);

  Napi::Env env_;
  Napi::FunctionReference factory_;
  Napi::Reference<Napi::ArrayBuffer> page_;
  LaunchGeometry* geometry_ = nullptr;
  std::unordered_map<uint64_t, Entry> pending_;  // JavaScript thread only
  uint64_t nextId_ = 1;

  std::mutex mutex_;  // below: shared with the threads that settle
  bool closed_ = false;
  bool signalled_ = false;
  std::vector<std::pair<uint64_t, Outcome>> settled_;
  napi_threadsafe_function wake_ = nullptr;
};

}  // namespace mercer
