#include "env-state.h"

#include <utility>

#include "error.h"
#include "js-error.h"
#include "pool.h"

namespace mercer::cpu {

namespace {
void check(napi_status status, const char* call) {
  if (status != napi_ok)
    throw RuntimeError("INTERNAL", std::string(call) + " failed with N-API status " +
                                       std::to_string(static_cast<int>(status)) +
                                       ". The environment may be shutting down.");
}
}  // namespace

std::shared_ptr<EnvState> EnvState::create(napi_env env) {
  std::shared_ptr<EnvState> state(new EnvState(env));
  napi_value name;
  check(napi_create_string_utf8(env, "mercer-cpu", NAPI_AUTO_LENGTH, &name), "create_string");
  check(napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr,
                                        state.get(), onWake, &state->wakeUp_),
        "create_threadsafe_function");
  check(napi_unref_threadsafe_function(env, state->wakeUp_), "unref_threadsafe_function");

  auto* holder = new std::shared_ptr<EnvState>(state);
  check(napi_set_instance_data(
            env, holder,
            [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<EnvState>*>(data); },
            nullptr),
        "set_instance_data");
  // After the threadsafe function, so that this hook runs before that one's own.
  check(napi_add_env_cleanup_hook(
            env, [](void* data) { static_cast<EnvState*>(data)->close(); }, state.get()),
        "add_env_cleanup_hook");
  return state;
}

EnvState& EnvState::of(napi_env env) {
  void* data = nullptr;
  check(napi_get_instance_data(env, &data), "get_instance_data");
  return **static_cast<std::shared_ptr<EnvState>*>(data);
}

napi_value EnvState::addPromise(napi_deferred* deferred) {
  napi_value promise;
  check(napi_create_promise(env_, deferred, &promise), "create_promise");
  if (pendingPromises_++ == 0) napi_ref_threadsafe_function(env_, wakeUp_);
  return promise;
}

napi_value EnvState::resolvedPromise() {
  napi_deferred deferred;
  napi_value promise, undefined;
  check(napi_create_promise(env_, &deferred, &promise), "create_promise");
  check(napi_get_undefined(env_, &undefined), "get_undefined");
  check(napi_resolve_deferred(env_, deferred, undefined), "resolve_deferred");
  return promise;
}

void EnvState::settle(const Settled& settled) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!closing_) settled_.push_back(settled);
}

void EnvState::release(std::vector<napi_ref>& references) {
  if (references.empty()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  released_.insert(released_.end(), references.begin(), references.end());
  references.clear();
}

void EnvState::release(napi_ref reference) {
  std::lock_guard<std::mutex> lock(mutex_);
  released_.push_back(reference);
}

void EnvState::wake() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (closing_ || wakePending_ || (settled_.empty() && released_.empty())) return;
  wakePending_ = true;
  napi_call_threadsafe_function(wakeUp_, nullptr, napi_tsfn_nonblocking);
}

void EnvState::onWake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // torn down
  auto* self = static_cast<EnvState*>(context);
  {
    std::lock_guard<std::mutex> lock(self->mutex_);
    self->wakePending_ = false;
  }
  self->dropReferences();
  self->settlePromises();
}

void EnvState::settlePromises() {
  std::vector<Settled> settled;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    settled.swap(settled_);
  }
  if (settled.empty()) return;
  napi_value undefined;
  if (napi_get_undefined(env_, &undefined) != napi_ok) return;
  for (const Settled& one : settled) {
    if (one.outOfMemory) {
      napi_value error = makeJsError(
          env_, "OUT_OF_MEMORY",
          "a launch failed: the scratch memory of a worker thread could not be allocated. Free "
          "memory, or use a plan with smaller tiles.");
      napi_reject_deferred(env_, one.deferred, error);
    } else {
      napi_resolve_deferred(env_, one.deferred, undefined);
    }
  }
  pendingPromises_ -= settled.size();
  if (pendingPromises_ == 0) napi_unref_threadsafe_function(env_, wakeUp_);
}

void EnvState::dropReferences() {
  std::vector<napi_ref> references;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (released_.empty()) return;
    references.swap(released_);
  }
  for (napi_ref reference : references) napi_delete_reference(env_, reference);
}

void EnvState::close() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    settled_.clear();
  }
  napi_release_threadsafe_function(wakeUp_, napi_tsfn_abort);
  Pool::get().closeEnvironment(*this);
  dropReferences();
}

}  // namespace mercer::cpu
