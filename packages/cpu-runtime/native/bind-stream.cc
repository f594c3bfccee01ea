// Streams and events.
#include "binding.h"
#include "env-state.h"
#include "handles.h"
#include "js-error.h"
#include "pool.h"

namespace mercer::cpu {

namespace {

napi_value booleanValue(napi_env env, bool yes) {
  napi_value value;
  napi_get_boolean(env, yes, &value);
  return value;
}

napi_value createStream(napi_env env, napi_callback_info) {
  auto stream = std::make_shared<Stream>(EnvState::of(env).shared_from_this());
  Pool::get().registerStream(stream);
  return makeHandle<Stream>(env, std::move(stream));
}

napi_value disposeStream(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  slotOf<Stream>(env, arguments.at[0]).value.reset();
  return undefinedValue(env);
}

napi_value inFlight(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  napi_value count;
  napi_create_double(
      env, static_cast<double>(handleOf<Stream>(env, arguments.at[0])->inFlight.load()), &count);
  return count;
}

napi_value queryStream(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return booleanValue(env, Pool::get().idle(*handleOf<Stream>(env, arguments.at[0])));
}

napi_value whenDone(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  assertNoCapture(*stream, "waiting for a stream");
  EnvState& state = EnvState::of(env);
  state.dropReferences();
  napi_deferred deferred;
  // A failure goes through the queue, like any other promise.
  if (Pool::get().idle(*stream) && !Pool::get().failed(*stream)) return state.resolvedPromise();
  napi_value promise = state.addPromise(&deferred);
  Pool::get().enqueue(stream, Op{Op::Kind::kNotify, nullptr, nullptr, deferred});
  return promise;
}

napi_value recordEvent(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  assertNoCapture(*stream, "recording an event");
  auto event = std::make_shared<Event>();
  napi_value handle = makeHandle<Event>(env, event);
  Pool::get().enqueue(stream, Op{Op::Kind::kRecord, nullptr, std::move(event), nullptr});
  return handle;
}

napi_value waitEvent(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto& stream = handleOf<Stream>(env, arguments.at[0]);
  assertNoCapture(*stream, "waiting for an event");
  const auto& event = handleOf<Event>(env, arguments.at[1]);
  Pool::get().enqueue(stream, Op{Op::Kind::kWait, nullptr, event, nullptr});
  return undefinedValue(env);
}

napi_value queryEvent(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  return booleanValue(env, Pool::get().fired(*handleOf<Event>(env, arguments.at[0])));
}

napi_value whenEvent(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& event = handleOf<Event>(env, arguments.at[0]);
  EnvState& state = EnvState::of(env);
  if (Pool::get().fired(*event)) return state.resolvedPromise();
  napi_deferred deferred;
  napi_value promise = state.addPromise(&deferred);
  if (!Pool::get().listen(*event, state.shared_from_this(), deferred)) {
    state.settle({deferred, false});
    state.wake();
  }
  return promise;
}

// Milliseconds on the monotonic clock; undefined before the event fired.
napi_value eventTime(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const auto& event = handleOf<Event>(env, arguments.at[0]);
  if (!Pool::get().fired(*event)) return undefinedValue(env);
  const std::chrono::duration<double, std::milli> time = event->time.time_since_epoch();
  napi_value value;
  napi_create_double(env, time.count(), &value);
  return value;
}

napi_value disposeEvent(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  slotOf<Event>(env, arguments.at[0]).value.reset();
  return undefinedValue(env);
}

}  // namespace

void bindStream(napi_env env, napi_value exports) {
  define<createStream>(env, exports, "createStream");
  define<disposeStream>(env, exports, "disposeStream");
  define<inFlight>(env, exports, "inFlight");
  define<queryStream>(env, exports, "queryStream");
  define<whenDone>(env, exports, "whenDone");
  define<recordEvent>(env, exports, "recordEvent");
  define<waitEvent>(env, exports, "waitEvent");
  define<queryEvent>(env, exports, "queryEvent");
  define<whenEvent>(env, exports, "whenEvent");
  define<eventTime>(env, exports, "eventTime");
  define<disposeEvent>(env, exports, "disposeEvent");
}

}  // namespace mercer::cpu
