// Entry of the addon: one state per environment, functions by topic.
#include <node_api.h>

#include "binding.h"
#include "env-state.h"

namespace {

napi_value initialize(napi_env env, napi_value exports) {
  using namespace mercer::cpu;
  try {
    EnvState::create(env);
  } catch (const std::exception& error) {
    napi_throw_error(env, "INTERNAL", error.what());
    return nullptr;
  }
  bindSystem(env, exports);
  bindMemory(env, exports);
  bindModule(env, exports);
  bindStream(env, exports);
  bindLaunch(env, exports);
  bindBuiltin(env, exports);
  bindLapack(env, exports);
  bindInterpreter(env, exports);
  return exports;
}

}  // namespace

NAPI_MODULE(mercer_cpu, initialize)
