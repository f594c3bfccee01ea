#include "kinds.h"

namespace mercer {

namespace {

Napi::Value eventCreate(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), std::make_shared<Event>(share<DeviceUse>(info[0]), info[1].ToBoolean().Value()));
}

Napi::Value eventDispose(const Napi::CallbackInfo& info) {
  take<Event>(info[0]);
  return info.Env().Undefined();
}

Napi::Value eventRecord(const Napi::CallbackInfo& info) {
  unwrap<Event>(info[0]).record(unwrap<Stream>(info[1]));
  return info.Env().Undefined();
}

Napi::Value eventWaitedBy(const Napi::CallbackInfo& info) {
  unwrap<Event>(info[0]).waitedBy(unwrap<Stream>(info[1]));
  return info.Env().Undefined();
}

Napi::Value eventQuery(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), unwrap<Event>(info[0]).query());
}

Napi::Value eventWhenDone(const Napi::CallbackInfo& info) {
  Event& event = unwrap<Event>(info[0]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { event.whenDone(std::move(done)); });
}

Napi::Value eventElapsedMs(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), unwrap<Event>(info[0]).elapsedMs(unwrap<Event>(info[1])));
}

}  // namespace

void exportEvents(Napi::Object exports) {
  method<eventCreate>(exports, "eventCreate");
  method<eventDispose>(exports, "eventDispose");
  method<eventRecord>(exports, "eventRecord");
  method<eventWaitedBy>(exports, "eventWaitedBy");
  method<eventQuery>(exports, "eventQuery");
  method<eventWhenDone>(exports, "eventWhenDone");
  method<eventElapsedMs>(exports, "eventElapsedMs");
}

}  // namespace mercer
