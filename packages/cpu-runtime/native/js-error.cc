#include "js-error.h"

#include "env-state.h"
#include "error.h"

namespace mercer::cpu {

napi_value makeJsError(napi_env env, const char* code, const std::string& message) {
  napi_value arguments[2] = {nullptr, nullptr};
  napi_value error = nullptr;
  napi_create_string_utf8(env, code, NAPI_AUTO_LENGTH, &arguments[0]);
  napi_create_string_utf8(env, message.c_str(), message.size(), &arguments[1]);
  napi_ref errorClass = EnvState::of(env).errorClass;
  napi_value constructor = nullptr;
  if (errorClass != nullptr && napi_get_reference_value(env, errorClass, &constructor) == napi_ok &&
      constructor != nullptr && napi_new_instance(env, constructor, 2, arguments, &error) == napi_ok)
    return error;
  napi_create_error(env, arguments[0], arguments[1], &error);
  return error;
}

void throwJsError(napi_env env, const char* code, const std::string& message) {
  napi_throw(env, makeJsError(env, code, message));
}

void fail(const char* code, const std::string& message) { throw RuntimeError(code, message); }

}  // namespace mercer::cpu
