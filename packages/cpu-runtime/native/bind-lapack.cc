// The BLAS and LAPACK library: opening it.
#include "binding.h"
#include "linalg/lapack.h"

namespace mercer::cpu {

namespace {

napi_value textValue(napi_env env, const std::string& text) {
  napi_value value;
  napi_create_string_utf8(env, text.c_str(), text.size(), &value);
  return value;
}

// Undefined once a library is open, this one or an earlier one; else why this one cannot be used.
napi_value openLapack(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  std::string error;
  if (Lapack::open(arguments.text(0), error)) return undefinedValue(env);
  return textValue(env, error);
}

napi_value lapackInfo(napi_env env, napi_callback_info) {
  const Lapack* lapack = Lapack::get();
  if (lapack == nullptr) return undefinedValue(env);
  napi_value object, bits;
  napi_create_object(env, &object);
  napi_set_named_property(env, object, "path", textValue(env, lapack->path()));
  napi_set_named_property(env, object, "vendor", textValue(env, lapack->vendor()));
  napi_create_int32(env, lapack->integerBits(), &bits);
  napi_set_named_property(env, object, "integerBits", bits);
  return object;
}

}  // namespace

void bindLapack(napi_env env, napi_value exports) {
  define<openLapack>(env, exports, "openLapack");
  define<lapackInfo>(env, exports, "lapackInfo");
}

}  // namespace mercer::cpu
