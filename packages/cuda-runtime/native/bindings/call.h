// Between a JavaScript call and core: handles, arguments, and the one place where a Failure becomes
// a JavaScript exception.
#pragma once

#include <napi.h>

#include <memory>
#include <string>
#include <vector>

#include "environment.h"

namespace mercer {

enum class Kind : uint32_t { Device, Stream, Event, Buffer, Pinned, Module, Function, Graph, GraphExec, Communicator };

const char* kindName(Kind kind);

/// What an external points to. Disposing empties it.
struct Box {
  Kind kind;
  std::shared_ptr<void> object;
};

template <typename T>
struct KindOf;

Napi::Value wrapBox(Napi::Env env, Kind kind, std::shared_ptr<void> object);
/// Throws `INVALID_HANDLE` for anything that is not a handle of this kind.
Box& boxOf(const Napi::Value& value, Kind kind);
[[noreturn]] void disposedHandle(Kind kind);

template <typename T>
Napi::Value wrap(Napi::Env env, std::shared_ptr<T> object) {
  return wrapBox(env, KindOf<T>::value, std::move(object));
}

/// The object itself, borrowed: valid during this call.
template <typename T>
T& unwrap(const Napi::Value& value) {
  Box& box = boxOf(value, KindOf<T>::value);
  if (!box.object) disposedHandle(box.kind);
  return *static_cast<T*>(box.object.get());
}

template <typename T>
std::shared_ptr<T> share(const Napi::Value& value) {
  Box& box = boxOf(value, KindOf<T>::value);
  if (!box.object) disposedHandle(box.kind);
  return std::static_pointer_cast<T>(box.object);
}

/// Empties the box; does nothing the second time.
template <typename T>
std::shared_ptr<T> take(const Napi::Value& value) {
  return std::static_pointer_cast<T>(std::exchange(boxOf(value, KindOf<T>::value).object, nullptr));
}

uint64_t bytesOf(const Napi::Value& value);
int64_t integerOf(const Napi::Value& value);
std::string textOf(const Napi::Value& value);
std::vector<std::string> textsOf(const Napi::Value& value);

/// Memory of a Uint8Array; the TypeScript side makes one of any other view.
struct HostMemory {
  uint8_t* data;
  size_t bytes;
};
HostMemory memoryOf(const Napi::Value& value);

/// Turns the exception being handled into a JavaScript one. Never throws: in an environment that is
/// being terminated no exception can be raised any more, and none may leave the addon.
void raise(Napi::Env env) noexcept;

template <Napi::Value (*body)(const Napi::CallbackInfo&)>
Napi::Value guarded(const Napi::CallbackInfo& info) {
  try {
    return body(info);
  } catch (...) {
    raise(info.Env());
    return Napi::Value();
  }
}

template <Napi::Value (*body)(const Napi::CallbackInfo&)>
void method(Napi::Object exports, const char* name) {
  exports.Set(name, Napi::Function::New<guarded<body>>(exports.Env(), name));
}

/// A promise settled by a core completion that carries no value.
template <typename Start>
Napi::Value promiseOf(Napi::Env env, std::vector<Napi::Value> kept, Start start,
                      std::function<void()> cancel = {}) {
  auto pending = Environment::of(env).begin(std::move(kept), std::move(cancel));
  const auto settle = pending.settle;
  try {
    start([settle](const Failure* failure) {
      settle({failure ? std::optional<Failure>(*failure) : std::nullopt, {}});
    });
  } catch (const Failure& failure) {
    settle({failure, {}});
  }
  return pending.promise;
}

void exportLibraries(Napi::Object exports);
void exportDevices(Napi::Object exports);
void exportStreams(Napi::Object exports);
void exportEvents(Napi::Object exports);
void exportMemory(Napi::Object exports);
void exportCopies(Napi::Object exports);
void exportModules(Napi::Object exports);
void exportGraphs(Napi::Object exports);
void exportCompiler(Napi::Object exports);
void exportFactorizations(Napi::Object exports);
void exportSpectral(Napi::Object exports);
void exportProducts(Napi::Object exports);
void exportBlas(Napi::Object exports);
void exportCommunicators(Napi::Object exports);

#define MERCER_KIND(type, kind)             \
  template <>                               \
  struct KindOf<type> {                     \
    static constexpr Kind value = Kind::kind; \
  };

}  // namespace mercer
