// Compiled kernels: load, look up, let go.
#include "binding.h"
#include "handles.h"

namespace mercer::cpu {

namespace {

napi_value loadImage(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const ByteSpan image = bytesOf(env, arguments.at[0]);
  return makeHandle<Image>(env, Image::load(image.data, image.bytes, arguments.boolean(1)));
}

napi_value findFunction(napi_env env, napi_callback_info info) {
  const Arguments<2> arguments(env, info);
  const auto& image = handleOf<Image>(env, arguments.at[0]);
  auto function = std::make_shared<Function>(Function{image, image->find(arguments.text(1))});
  return makeHandle<Function>(env, std::move(function));
}

napi_value disposeModule(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  slotOf<Image>(env, arguments.at[0]).value.reset();
  return undefinedValue(env);
}

napi_value disposeFunction(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  slotOf<Function>(env, arguments.at[0]).value.reset();
  return undefinedValue(env);
}

}  // namespace

void bindModule(napi_env env, napi_value exports) {
  define<loadImage>(env, exports, "loadImage");
  define<findFunction>(env, exports, "findFunction");
  define<disposeModule>(env, exports, "disposeModule");
  define<disposeFunction>(env, exports, "disposeFunction");
}

}  // namespace mercer::cpu
