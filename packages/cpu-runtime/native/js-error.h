// Errors as JS sees them.
#pragma once

#include <node_api.h>

#include <string>

namespace mercer::cpu {

// An instance of the class given to setErrorClass: new Class(code, message).
napi_value makeJsError(napi_env env, const char* code, const std::string& message);
void throwJsError(napi_env env, const char* code, const std::string& message);

}  // namespace mercer::cpu
