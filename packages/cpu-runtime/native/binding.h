// Shared by the binding files: arguments in, exceptions out.
#pragma once

#include <node_api.h>

#include <cmath>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "error.h"
#include "js-error.h"

namespace mercer::cpu {

constexpr double kMaxSafeInteger = 9007199254740991.0;

// Arguments of one call. Types are checked here; ranges, and the words a user reads, on the TypeScript side.
template <size_t N>
struct Arguments {
  napi_env env;
  napi_value at[N];
  Arguments(napi_env env, napi_callback_info info) : env(env) {
    size_t count = N;
    napi_get_cb_info(env, info, &count, at, nullptr, nullptr);
    if (count < N)
      throw RuntimeError("INVALID_ARGUMENT", "the native call takes " + std::to_string(N) +
                                                 " arguments, got " + std::to_string(count) + ".");
  }

  // A non-negative safe integer.
  int64_t integer(size_t i) const {
    double value = -1;
    if (napi_get_value_double(env, at[i], &value) != napi_ok || !(value >= 0) ||
        value > kMaxSafeInteger || value != std::floor(value))
      throw RuntimeError("INVALID_ARGUMENT", "argument " + std::to_string(i) +
                                                 " must be a safe integer of at least 0.");
    return static_cast<int64_t>(value);
  }

  bool boolean(size_t i) const {
    bool value = false;
    if (napi_get_value_bool(env, at[i], &value) != napi_ok)
      throw RuntimeError("INVALID_ARGUMENT", "argument " + std::to_string(i) + " must be a boolean.");
    return value;
  }

  std::string text(size_t i) const {
    size_t length = 0;
    if (napi_get_value_string_utf8(env, at[i], nullptr, 0, &length) != napi_ok)
      throw RuntimeError("INVALID_ARGUMENT", "argument " + std::to_string(i) + " must be a string.");
    std::string value(length + 1, '\0');
    napi_get_value_string_utf8(env, at[i], value.data(), length + 1, &length);
    value.resize(length);
    return value;
  }
};

struct ByteSpan {
  uint8_t* data = nullptr;
  size_t bytes = 0;
};

// The bytes of a typed array, DataView or ArrayBuffer.
ByteSpan bytesOf(napi_env env, napi_value value);

inline napi_value undefinedValue(napi_env env) {
  napi_value value = nullptr;
  napi_get_undefined(env, &value);
  return value;
}

// No C++ exception crosses into Node.
template <napi_value (*Body)(napi_env, napi_callback_info)>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return Body(env, info);
  } catch (const RuntimeError& error) {
    throwJsError(env, error.code(), error.what());
  } catch (const std::bad_alloc&) {
    throwJsError(env, "OUT_OF_MEMORY", "a native call failed: no memory. Free some and retry.");
  } catch (const std::exception& error) {
    throwJsError(env, "INTERNAL", error.what());
  }
  return nullptr;
}

template <napi_value (*Body)(napi_env, napi_callback_info)>
void define(napi_env env, napi_value exports, const char* name) {
  napi_value function;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<Body>, nullptr, &function) ==
      napi_ok)
    napi_set_named_property(env, exports, name, function);
}

void bindSystem(napi_env env, napi_value exports);
void bindMemory(napi_env env, napi_value exports);
void bindModule(napi_env env, napi_value exports);
void bindStream(napi_env env, napi_value exports);
void bindLaunch(napi_env env, napi_value exports);
void bindBuiltin(napi_env env, napi_value exports);
void bindLapack(napi_env env, napi_value exports);
void bindInterpreter(napi_env env, napi_value exports);

}  // namespace mercer::cpu
