#include "kinds.h"

namespace mercer {

namespace {

Napi::Value streamCreate(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), std::make_shared<Stream>(share<DeviceUse>(info[0]), static_cast<int>(integerOf(info[1]))));
}

Napi::Value streamDispose(const Napi::CallbackInfo& info) {
  take<Stream>(info[0]);
  return info.Env().Undefined();
}

Napi::Value streamHandle(const Napi::CallbackInfo& info) {
  return Napi::BigInt::New(info.Env(), static_cast<uint64_t>(reinterpret_cast<uintptr_t>(unwrap<Stream>(info[0]).handle())));
}

Napi::Value streamQuery(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), unwrap<Stream>(info[0]).query());
}

Napi::Value streamSynchronize(const Napi::CallbackInfo& info) {
  unwrap<Stream>(info[0]).synchronize();
  return info.Env().Undefined();
}

Napi::Value streamWhenDone(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { stream.whenDone(std::move(done)); });
}

Napi::Value streamWhenBelow(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const uint64_t limit = bytesOf(info[1]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { stream.whenBelow(limit, std::move(done)); });
}

Napi::Value streamInFlight(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(unwrap<Stream>(info[0]).inFlight()));
}

Napi::Value streamCapturing(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), unwrap<Stream>(info[0]).capturing());
}

Napi::Value streamBeginCapture(const Napi::CallbackInfo& info) {
  unwrap<Stream>(info[0]).beginCapture();
  return info.Env().Undefined();
}

Napi::Value streamKeepForCapture(const Napi::CallbackInfo& info) {
  unwrap<Stream>(info[0]).keepForCapture(share<Buffer>(info[1]));
  return info.Env().Undefined();
}

Napi::Value streamEndCapture(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), unwrap<Stream>(info[0]).endCapture());
}

Napi::Value streamCapturePoint(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), unwrap<Stream>(info[0]).capturePoint());
}

Napi::Value streamFollowCapture(const Napi::CallbackInfo& info) {
  const auto given = info[1].As<Napi::Uint32Array>();
  unwrap<Stream>(info[0]).followCapture({given.Data(), given.Data() + given.ElementLength()});
  return info.Env().Undefined();
}

}  // namespace

void exportStreams(Napi::Object exports) {
  method<streamCreate>(exports, "streamCreate");
  method<streamDispose>(exports, "streamDispose");
  method<streamHandle>(exports, "streamHandle");
  method<streamQuery>(exports, "streamQuery");
  method<streamSynchronize>(exports, "streamSynchronize");
  method<streamWhenDone>(exports, "streamWhenDone");
  method<streamWhenBelow>(exports, "streamWhenBelow");
  method<streamInFlight>(exports, "streamInFlight");
  method<streamCapturing>(exports, "streamCapturing");
  method<streamBeginCapture>(exports, "streamBeginCapture");
  method<streamKeepForCapture>(exports, "streamKeepForCapture");
  method<streamEndCapture>(exports, "streamEndCapture");
  method<streamCapturePoint>(exports, "streamCapturePoint");
  method<streamFollowCapture>(exports, "streamFollowCapture");
}

}  // namespace mercer
