// JS handles: type-tagged externals that own a reference. An emptied slot is a disposed object.
#pragma once

#include <node_api.h>

#include <memory>
#include <string>

#include "error.h"
#include "host-memory.h"
#include "image.h"
#include "interpreter/program-value.h"
#include "stream.h"

namespace mercer::cpu {

// A kernel keeps its image. A built-in function has none, and tells from its parameters what scratch it needs. A program
// that is interpreted tells also how a launch is cut.
struct Function {
  std::shared_ptr<Image> image;
  KernelFn kernel;
  size_t (*scratchBytes)(const void* args) = nullptr;
  size_t argBytes = 0;
  std::shared_ptr<const interpreter::Program> program = nullptr;
  const interpreter::Level* level = nullptr;
};

template <class T>
struct HandleType;

template <>
struct HandleType<Stream> {
  static constexpr const char* name = "stream";
  static constexpr napi_type_tag tag = {0x6d65726365720001ull, 0x9a1c3f5e7b2d4860ull};
};
template <>
struct HandleType<Event> {
  static constexpr const char* name = "event";
  static constexpr napi_type_tag tag = {0x6d65726365720002ull, 0x1b4e8d2f6a9c7350ull};
};
template <>
struct HandleType<Image> {
  static constexpr const char* name = "module";
  static constexpr napi_type_tag tag = {0x6d65726365720003ull, 0x5f2a7c9e1d3b8640ull};
};
template <>
struct HandleType<Function> {
  static constexpr const char* name = "function";
  static constexpr napi_type_tag tag = {0x6d65726365720004ull, 0x8c3d6b1f9e5a2740ull};
};
template <>
struct HandleType<HostMemory> {
  static constexpr const char* name = "buffer";
  static constexpr napi_type_tag tag = {0x6d65726365720005ull, 0x3e7b5d9a2c8f1640ull};
};
template <>
struct HandleType<Graph> {
  static constexpr const char* name = "graph";
  static constexpr napi_type_tag tag = {0x6d65726365720006ull, 0x2d9f4b7c1e6a8350ull};
};

// What is captured does not run: there is nothing that an event or a promise could stand behind.
inline void assertNoCapture(const Stream& stream, const char* what) {
  if (stream.capture)
    throw RuntimeError("CAPTURING", std::string(what) + " failed: the stream captures work, and runs none. End the capture "
                                                        "first, or use another stream.");
}

// What an ArrayBuffer over native memory owns. Node runs the finaliser of such a buffer some turns of the loop after it
// was detached; emptying the cell gives the memory back at once.
struct ViewCell {
  std::shared_ptr<HostMemory> memory;
};

template <class T>
struct Slot {
  std::shared_ptr<T> value;
  int64_t reported = 0;            // bytes told to the collector
  std::shared_ptr<ViewCell> view;  // buffers only
};

// Told to V8 on the JS thread only, when the handle is made, emptied or collected.
inline void reportBytes(napi_env env, int64_t change) {
  int64_t total;
  if (change != 0) napi_adjust_external_memory(env, change, &total);
}

template <class T>
napi_value makeHandle(napi_env env, std::shared_ptr<T> value, int64_t bytes = 0) {
  auto slot = std::make_unique<Slot<T>>(Slot<T>{std::move(value), bytes, nullptr});
  napi_value handle;
  const auto finalize = [](napi_env finalEnv, void* data, void*) {
    std::unique_ptr<Slot<T>> owned(static_cast<Slot<T>*>(data));
    reportBytes(finalEnv, -owned->reported);
  };
  if (napi_create_external(env, slot.get(), finalize, nullptr, &handle) != napi_ok)
    throw RuntimeError("INTERNAL", "creating a handle failed. The environment may be ending.");
  slot.release();
  if (napi_type_tag_object(env, handle, &HandleType<T>::tag) != napi_ok)
    throw RuntimeError("INTERNAL", "tagging a handle failed. The environment may be ending.");
  reportBytes(env, bytes);
  return handle;
}

// Null when the value is no handle of this type.
template <class T>
Slot<T>* findSlot(napi_env env, napi_value value) {
  bool same = false;
  void* data = nullptr;
  napi_valuetype type;
  // Asking null or undefined for its tag would leave a pending TypeError.
  if (napi_typeof(env, value, &type) != napi_ok || type != napi_external) return nullptr;
  if (napi_check_object_type_tag(env, value, &HandleType<T>::tag, &same) != napi_ok || !same ||
      napi_get_value_external(env, value, &data) != napi_ok)
    return nullptr;
  return static_cast<Slot<T>*>(data);
}

template <class T>
Slot<T>& slotOf(napi_env env, napi_value value) {
  Slot<T>* slot = findSlot<T>(env, value);
  if (slot == nullptr)
    throw RuntimeError("INVALID_ARGUMENT", std::string("the argument is not a ") +
                                               HandleType<T>::name +
                                               " handle of @mercer/cpu-runtime.");
  return *slot;
}

template <class T>
const std::shared_ptr<T>& handleOf(napi_env env, napi_value value) {
  Slot<T>& slot = slotOf<T>(env, value);
  if (!slot.value)
    throw RuntimeError("DISPOSED", std::string("the ") + HandleType<T>::name +
                                       " was disposed. Do not use it after dispose().");
  return slot.value;
}

}  // namespace mercer::cpu
