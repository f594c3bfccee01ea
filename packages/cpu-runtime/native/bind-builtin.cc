// Built-in functions, launched like compiled kernels.
#include "binding.h"
#include "builtin.h"
#include "handles.h"
#include "linalg/lapack.h"

namespace mercer::cpu {

namespace {

// [handle, bytes of the packed parameters]; undefined for a routine of LAPACK's while none is open
napi_value builtinFunction(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const std::string name = arguments.text(0);
  const Builtin* found = findBuiltin(name, arguments.text(1));
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

void bindBuiltin(napi_env env, napi_value exports) {
  define<builtinFunction>(env, exports, "builtinFunction");
}

}  // namespace mercer::cpu
