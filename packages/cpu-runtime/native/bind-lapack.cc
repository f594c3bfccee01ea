// The BLAS and LAPACK library: opening it, and the routines built on it.
#include "binding.h"
#include "handles.h"
#include "linalg/builtins.h"
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

// [handle, bytes of the packed parameters]; undefined for a routine of LAPACK's while none is open
napi_value lapackFunction(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  const std::string name = arguments.text(0);
  const Builtin* found = findBuiltin(name);
  if (found == nullptr)
    throw RuntimeError("SYMBOL_NOT_FOUND", "there is no built-in function named " + name + ".");
  if (found->needsLapack && Lapack::get() == nullptr) return undefinedValue(env);
  napi_value pair, bytes;
  napi_create_array_with_length(env, 2, &pair);
  auto function =
      std::make_shared<Function>(Function{nullptr, found->run, found->scratchBytes, found->argBytes});
  napi_set_element(env, pair, 0, makeHandle<Function>(env, std::move(function)));
  napi_create_double(env, static_cast<double>(found->argBytes), &bytes);
  napi_set_element(env, pair, 1, bytes);
  return pair;
}

}  // namespace

void bindLapack(napi_env env, napi_value exports) {
  define<openLapack>(env, exports, "openLapack");
  define<lapackInfo>(env, exports, "lapackInfo");
  define<lapackFunction>(env, exports, "lapackFunction");
}

}  // namespace mercer::cpu
