#include "../core/janitor.h"
#include "kinds.h"

namespace mercer {

namespace {

Napi::Value moduleLoad(const Napi::CallbackInfo& info) {
  const HostMemory image = memoryOf(info[1]);
  // PTX must end in a zero, and the driver reads an image without knowing its length.
  std::vector<uint8_t> copy(image.data, image.data + image.bytes);
  copy.push_back(0);
  return wrap(info.Env(), std::make_shared<Module>(share<DeviceUse>(info[0]), copy.data()));
}

/// (device, image, names): loads module and kernels on the loader's thread; resolves to the handle.
Napi::Value moduleLoadLater(const Napi::CallbackInfo& info) {
  const auto use = share<DeviceUse>(info[0]);
  const HostMemory image = memoryOf(info[1]);
  auto copy = std::make_shared<std::vector<uint8_t>>(image.data, image.data + image.bytes);
  copy->push_back(0);
  auto names = textsOf(info[2]);
  auto pending = Environment::of(info.Env()).begin({}, {});
  runOnLoader([use, copy, names = std::move(names), settle = pending.settle] {
    try {
      auto module = std::make_shared<Module>(use, copy->data());
      for (const auto& name : names) Function(module, name).load();
      settle({std::nullopt, [module](Napi::Env env, const auto&) { return wrap(env, module); }});
    } catch (const Failure& failure) {
      settle({failure, {}});
    }
  });
  return pending.promise;
}

Napi::Value moduleDispose(const Napi::CallbackInfo& info) {
  if (auto module = take<Module>(info[0])) module->close();
  return info.Env().Undefined();
}

Napi::Value moduleFunction(const Napi::CallbackInfo& info) {
  return wrap(info.Env(), std::make_shared<Function>(share<Module>(info[0]), textOf(info[1])));
}

/// Address and size of a __device__ or __constant__ variable.
Napi::Value moduleGlobal(const Napi::CallbackInfo& info) {
  Module& module = unwrap<Module>(info[0]);
  Device& device = module.enter();
  const std::string name = textOf(info[1]);
  cu::CUdeviceptr address = 0;
  size_t bytes = 0;
  const auto result = driver().cuModuleGetGlobal(&address, &bytes, module.handle(), name.c_str());
  if (result == cu::kNotFound) misuse("NO_SUCH_VARIABLE", "the module has no variable named " + name);
  check(result, "cuModuleGetGlobal", &device);
  auto object = Napi::Object::New(info.Env());
  object["address"] = Napi::BigInt::New(info.Env(), static_cast<uint64_t>(address));
  object["bytes"] = Napi::Number::New(info.Env(), static_cast<double>(bytes));
  return object;
}

Napi::Value functionAttribute(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), unwrap<Function>(info[0]).attribute(static_cast<int>(integerOf(info[1]))));
}

Napi::Value functionSetAttribute(const Napi::CallbackInfo& info) {
  unwrap<Function>(info[0]).setAttribute(static_cast<int>(integerOf(info[1])), static_cast<int>(integerOf(info[2])));
  return info.Env().Undefined();
}

Napi::Value functionParamSizes(const Napi::CallbackInfo& info) {
  auto sizes = Napi::Array::New(info.Env());
  for (size_t size : unwrap<Function>(info[0]).paramSizes())
    sizes[sizes.Length()] = Napi::Number::New(info.Env(), static_cast<double>(size));
  return sizes;
}

Napi::Value functionMaxActiveBlocks(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), unwrap<Function>(info[0]).maxActiveBlocks(
                                           static_cast<int>(integerOf(info[1])), bytesOf(info[2])));
}

Napi::Value functionMaxActiveClusters(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), unwrap<Function>(info[0]).maxActiveClusters(
                                           Environment::of(info.Env()).geometry()));
}

/// Packed parameters and their offsets.
struct Packed {
  Packed(napi_env env, napi_value first, napi_value second) {
    napi_typedarray_type paramsType, offsetsType;
    void *bytes = nullptr, *places = nullptr;
    if (napi_get_typedarray_info(env, first, &paramsType, &paramBytes, &bytes, nullptr, nullptr) ||
        napi_get_typedarray_info(env, second, &offsetsType, &count, &places, nullptr, nullptr) ||
        paramsType != napi_uint8_array || offsetsType != napi_uint32_array)
      misuse("INVALID_ARGUMENT", "a launch takes its packed parameters as Uint8Array and their offsets as Uint32Array");
    params = static_cast<uint8_t*>(bytes);
    offsets = static_cast<uint32_t*>(places);
  }
  const uint8_t* params = nullptr;
  const uint32_t* offsets = nullptr;
  size_t paramBytes = 0, count = 0;
};

// (function, stream, params: Uint8Array, offsets: Uint32Array); the geometry lies in the scratch page.
Napi::Value launch(const Napi::CallbackInfo& info) {
  Function& function = unwrap<Function>(info[0]);
  const auto stream = share<Stream>(info[1]);
  const Packed packed(info.Env(), info[2], info[3]);
  function.launch(Environment::of(info.Env()).geometry(), stream, packed.params, packed.paramBytes, packed.offsets,
                  packed.count);
  return Napi::Value();
}

// (function, graph, point, params: Uint8Array, offsets: Uint32Array, ofLoops); the geometry lies in the scratch page.
Napi::Value launchIn(const Napi::CallbackInfo& info) {
  Function& function = unwrap<Function>(info[0]);
  auto& graph = unwrap<GraphExec>(info[1]);
  const Packed packed(info.Env(), info[3], info[4]);
  function.launchIn(graph, info[2].As<Napi::Number>().Uint32Value(), info[5].ToBoolean().Value(),
                    Environment::of(info.Env()).geometry(), packed.params, packed.paramBytes, packed.offsets,
                    packed.count);
  return Napi::Value();
}

// (function, graph, params: Uint8Array, offsets: Uint32Array): a graph; the geometry lies in the scratch page.
Napi::Value loopOf(const Napi::CallbackInfo& info) {
  Function& function = unwrap<Function>(info[0]);
  auto& graph = unwrap<GraphExec>(info[1]);
  const Packed packed(info.Env(), info[2], info[3]);
  return wrap(info.Env(), function.loopOf(graph, Environment::of(info.Env()).geometry(), packed.params,
                                          packed.paramBytes, packed.offsets, packed.count));
}

/// (dtype, address, sizes, strides, box, elementStrides, interleave, swizzle, l2Promotion, oobFill)
Napi::Value tensorMapEncode(const Napi::CallbackInfo& info) {
  if (!driver().cuTensorMapEncodeTiled)
    misuse("NOT_SUPPORTED", "this driver has no cuTensorMapEncodeTiled");
  bool lossless = false;
  const auto address = info[1].As<Napi::BigInt>().Uint64Value(&lossless);
  const auto sizes = info[2].As<Napi::BigUint64Array>();
  const auto strides = info[3].As<Napi::BigUint64Array>();
  const auto box = info[4].As<Napi::Uint32Array>();
  const auto steps = info[5].As<Napi::Uint32Array>();
  const auto rank = sizes.ElementLength();
  if (rank < 1 || rank > 5 || strides.ElementLength() + 1 < rank || box.ElementLength() != rank ||
      steps.ElementLength() != rank)
    misuse("INVALID_ARGUMENT", "a tensor map has 1 to 5 dimensions and one stride less");
  cu::CUtensorMap map{};
  const auto choice = [&](size_t i) { return static_cast<int>(integerOf(info[i])); };
  MERCER_CU(nullptr, cuTensorMapEncodeTiled, &map, choice(0), static_cast<uint32_t>(rank),
            reinterpret_cast<void*>(address), const_cast<Napi::BigUint64Array&>(sizes).Data(),
            const_cast<Napi::BigUint64Array&>(strides).Data(), const_cast<Napi::Uint32Array&>(box).Data(),
            const_cast<Napi::Uint32Array&>(steps).Data(), choice(6), choice(7), choice(8), choice(9));
  auto bytes = Napi::Uint8Array::New(info.Env(), sizeof map);
  __builtin_memcpy(bytes.Data(), &map, sizeof map);
  return bytes;
}

}  // namespace

void exportModules(Napi::Object exports) {
  method<moduleLoad>(exports, "moduleLoad");
  method<moduleLoadLater>(exports, "moduleLoadLater");
  method<moduleDispose>(exports, "moduleDispose");
  method<moduleFunction>(exports, "moduleFunction");
  method<moduleGlobal>(exports, "moduleGlobal");
  method<functionAttribute>(exports, "functionAttribute");
  method<functionSetAttribute>(exports, "functionSetAttribute");
  method<functionParamSizes>(exports, "functionParamSizes");
  method<functionMaxActiveBlocks>(exports, "functionMaxActiveBlocks");
  method<functionMaxActiveClusters>(exports, "functionMaxActiveClusters");
  method<launch>(exports, "launch");
  method<launchIn>(exports, "launchIn");
  method<loopOf>(exports, "loopOf");
  method<tensorMapEncode>(exports, "tensorMapEncode");
}

}  // namespace mercer
