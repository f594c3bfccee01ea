#include "call.h"

namespace mercer {

static Napi::Value initialise(const Napi::CallbackInfo& info) {
  auto& environment = Environment::of(info.Env());
  environment.setErrorFactory(info[0].As<Napi::Function>());
  return environment.scratch();
}

static Napi::Value pendingCount(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(Environment::of(info.Env()).pendingCount()));
}

static Napi::Object start(Napi::Env env, Napi::Object exports) {
  Environment::create(env);
  method<initialise>(exports, "initialise");
  method<pendingCount>(exports, "pendingCount");
  exportLibraries(exports);
  exportDevices(exports);
  exportStreams(exports);
  exportEvents(exports);
  exportMemory(exports);
  exportCopies(exports);
  exportModules(exports);
  exportGraphs(exports);
  exportCompiler(exports);
  exportFactorizations(exports);
  exportSpectral(exports);
  exportProducts(exports);
  exportBlas(exports);
  exportCommunicators(exports);
  return exports;
}

NODE_API_MODULE(mercer_cuda, start)

}  // namespace mercer
