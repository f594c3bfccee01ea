#include "environment.h"

namespace mercer {

namespace {

/// Keeps the Environment alive while the addon's instance exists.
struct Instance {
  std::shared_ptr<Environment> environment;
};

}  // namespace

Environment::Environment(Napi::Env env) : env_(env) {}

Environment& Environment::create(Napi::Env env) {
  auto self = std::shared_ptr<Environment>(new Environment(env));
  napi_threadsafe_function wake = nullptr;
  const auto status = napi_create_threadsafe_function(
      env, nullptr, nullptr, Napi::String::New(env, "mercer:cuda"), 0, 1, nullptr, nullptr, self.get(),
      onCall, &wake);
  if (status != napi_ok) throw Napi::Error::New(env, "cannot create a thread-safe function");
  napi_unref_threadsafe_function(env, wake);
  self->wake_ = wake;
  auto page = Napi::ArrayBuffer::New(env, sizeof(LaunchGeometry));
  self->geometry_ = static_cast<LaunchGeometry*>(page.Data());
  self->page_ = Napi::Persistent(page);
  auto* instance = new Instance{self};
  env.SetInstanceData<Instance>(instance);
  // Registered after the thread-safe function was made, hence run before that is closed.
  napi_add_env_cleanup_hook(
      env, [](void* data) { static_cast<Environment*>(data)->close(); }, self.get());
  return *self;
}

Environment& Environment::of(Napi::Env env) { return *env.GetInstanceData<Instance>()->environment; }

Napi::Value Environment::scratch() { return page_.Value(); }

Environment::Pending Environment::begin(std::vector<Napi::Value> kept, std::function<void()> cancel) {
  const uint64_t id = nextId_++;
  Entry entry{Napi::Promise::Deferred::New(env_), {}, std::move(cancel)};
  for (const auto& value : kept) {
    napi_ref ref = nullptr;
    if (napi_create_reference(env_, value, 1, &ref) == napi_ok) entry.kept.push_back(ref);
  }
  const auto promise = entry.deferred.Promise();
  if (pending_.empty()) napi_ref_threadsafe_function(env_, wake_);
  pending_.emplace(id, std::move(entry));
  return {promise, [self = shared_from_this(), id](Outcome outcome) { self->settle(id, std::move(outcome)); }};
}

void Environment::settle(uint64_t id, Outcome outcome) {
  std::lock_guard lock(mutex_);
  if (closed_) return;
  settled_.emplace_back(id, std::move(outcome));
  if (signalled_) return;
  signalled_ = true;
  napi_call_threadsafe_function(wake_, nullptr, napi_tsfn_nonblocking);
}

void Environment::onCall(napi_env env, napi_value, void* context, void*) {
  if (env) static_cast<Environment*>(context)->deliver();
}

void Environment::deliver() {
  std::vector<std::pair<uint64_t, Outcome>> settled;
  {
    std::lock_guard lock(mutex_);
    signalled_ = false;
    settled.swap(settled_);
  }
  for (auto& [id, outcome] : settled) {
    const auto found = pending_.find(id);
    if (found == pending_.end()) continue;
    Entry entry = std::move(found->second);
    pending_.erase(found);
    try {
      Napi::HandleScope scope(env_);
      finish(entry, outcome);
    } catch (...) {
      // The environment is being terminated: nobody can receive the outcome.
    }
  }
  if (pending_.empty()) napi_unref_threadsafe_function(env_, wake_);
}

void Environment::finish(Entry& entry, Outcome& outcome) {
  try {
    if (outcome.failure) throw *outcome.failure;
    std::vector<Napi::Value> kept;
    for (auto ref : entry.kept) {
      napi_value value = nullptr;
      napi_get_reference_value(env_, ref, &value);
      kept.emplace_back(env_, value);
    }
    entry.deferred.Resolve(outcome.value ? outcome.value(env_, kept) : env_.Undefined());
  } catch (const Failure& failure) {
    entry.deferred.Reject(makeError(failure).Value());
  } catch (const Napi::Error& error) {
    entry.deferred.Reject(error.Value());
  }
  releaseKept(entry);
}

void Environment::releaseKept(Entry& entry) {
  for (auto ref : entry.kept) napi_delete_reference(env_, ref);
  entry.kept.clear();
}

void Environment::close() {
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    settled_.clear();
  }
  for (auto& [id, entry] : pending_) {
    if (entry.cancel) entry.cancel();
    releaseKept(entry);
  }
  pending_.clear();
  for (auto& weak : uses)
    if (auto use = weak.lock()) use->close();
  factory_.Reset();
  page_.Reset();
  napi_release_threadsafe_function(wake_, napi_tsfn_abort);
}

Napi::Error Environment::makeError(const Failure& failure) {
  static const char* const kinds[] = {"cuda", "nvrtc", "outOfMemory", "misuse", "cusolver", "cublas", "nccl"};
  auto fields = Napi::Object::New(env_);
  fields["kind"] = Napi::String::New(env_, kinds[static_cast<int>(failure.kind)]);
  fields["code"] = Napi::Number::New(env_, failure.code);
  fields["name"] = Napi::String::New(env_, failure.name);
  fields["call"] = Napi::String::New(env_, failure.call);
  fields["what"] = Napi::String::New(env_, failure.what);
  fields["log"] = Napi::String::New(env_, failure.log);
  fields["source"] = Napi::String::New(env_, failure.source);
  fields["requested"] = Napi::Number::New(env_, static_cast<double>(failure.requested));
  fields["free"] = Napi::Number::New(env_, static_cast<double>(failure.free));
  fields["live"] = Napi::Number::New(env_, static_cast<double>(failure.live));
  fields["device"] = Napi::Number::New(env_, failure.device);
  if (factory_.IsEmpty()) return Napi::Error::New(env_, failure.name + ": " + failure.what);
  return Napi::Error(env_, factory_.Call({fields}));
}

}  // namespace mercer
