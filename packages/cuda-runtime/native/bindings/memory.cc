#include "kinds.h"

namespace mercer {

namespace {

Napi::Value bufferCreate(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), std::make_shared<Buffer>(share<Stream>(info[0]), bytesOf(info[1])));
}

Napi::Value bufferAddress(const Napi::CallbackInfo& info) {
  return Napi::BigInt::New(info.Env(), static_cast<uint64_t>(unwrap<Buffer>(info[0]).address()));
}

/// Frees in the order of the given stream, or of the one it was allocated on.
Napi::Value bufferFree(const Napi::CallbackInfo& info) {
  if (!info[1].IsUndefined()) {
    auto stream = share<Stream>(info[1]);
    Box& box = boxOf(info[0], Kind::Buffer);
    if (box.object) static_cast<Buffer*>(box.object.get())->freeOn(std::move(stream));
  }
  take<Buffer>(info[0]);
  return info.Env().Undefined();
}

/// Whether something beside the handle holds the memory: a copy, a graph, work of a library that is not enqueued yet.
Napi::Value bufferIsHeld(const Napi::CallbackInfo& info) {
  const Box& box = boxOf(info[0], Kind::Buffer);
  if (!box.object) disposedHandle(box.kind);
  return Napi::Boolean::New(info.Env(), box.object.use_count() > 1);
}

Napi::Value poolDescription(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const PoolState state = poolState(unwrap<DeviceUse>(info[0]).enter());
  auto object = Napi::Object::New(env);
  object["usedBytes"] = Napi::Number::New(env, static_cast<double>(state.used));
  object["reservedBytes"] = Napi::Number::New(env, static_cast<double>(state.reserved));
  object["releaseThresholdBytes"] =
      Napi::Number::New(env, state.threshold == ~uint64_t{0} ? std::numeric_limits<double>::infinity()
                                                             : static_cast<double>(state.threshold));
  return object;
}

Napi::Value poolThreshold(const Napi::CallbackInfo& info) {
  const bool infinite = info[1].As<Napi::Number>().DoubleValue() == std::numeric_limits<double>::infinity();
  setPoolThreshold(unwrap<DeviceUse>(info[0]).enter(), infinite ? ~uint64_t{0} : bytesOf(info[1]));
  return info.Env().Undefined();
}

Napi::Value poolTrim(const Napi::CallbackInfo& info) {
  trimPool(unwrap<DeviceUse>(info[0]).enter(), bytesOf(info[1]));
  return info.Env().Undefined();
}

/// The ArrayBuffer shares ownership: the pages live until both it and the handle are gone.
Napi::Value pinnedCreate(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  auto pinned = std::make_shared<Pinned>(share<DeviceUse>(info[0]), bytesOf(info[1]));
  auto* owner = new std::shared_ptr<Pinned>(pinned);
  napi_value buffer = nullptr;
  const auto status = napi_create_external_arraybuffer(
      env, pinned->data(), pinned->bytes,
      [](napi_env, void*, void* hint) { delete static_cast<std::shared_ptr<Pinned>*>(hint); }, owner, &buffer);
  if (status != napi_ok) {
    delete owner;
    misuse("NO_EXTERNAL_BUFFERS",
           "this JavaScript engine refuses array buffers over memory that is not its own, so pinned "
           "buffers cannot be shown to it");
  }
  auto object = Napi::Object::New(env);
  object["handle"] = wrap(env, pinned);
  object["arrayBuffer"] = Napi::Value(env, buffer);
  return object;
}

/// Detaches the ArrayBuffer so that no view can reach freed pages.
Napi::Value pinnedDispose(const Napi::CallbackInfo& info) {
  take<Pinned>(info[0]);
  napi_detach_arraybuffer(info.Env(), info[1]);
  return info.Env().Undefined();
}

}  // namespace

void exportMemory(Napi::Object exports) {
  method<bufferCreate>(exports, "bufferCreate");
  method<bufferAddress>(exports, "bufferAddress");
  method<bufferFree>(exports, "bufferFree");
  method<bufferIsHeld>(exports, "bufferIsHeld");
  method<poolDescription>(exports, "poolState");
  method<poolThreshold>(exports, "poolSetThreshold");
  method<poolTrim>(exports, "poolTrim");
  method<pinnedCreate>(exports, "pinnedCreate");
  method<pinnedDispose>(exports, "pinnedDispose");
}

}  // namespace mercer
