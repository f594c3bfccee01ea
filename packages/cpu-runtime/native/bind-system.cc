// System facts, the pool's size, the error class.
#include "binding.h"
#include "cpu-info.h"
#include "env-state.h"
#include "fp-control.h"
#include "host-memory.h"
#include "pool.h"

namespace mercer::cpu {

namespace {

void setNumber(napi_env env, napi_value object, const char* name, double number) {
  napi_value value;
  napi_create_double(env, number, &value);
  napi_set_named_property(env, object, name, value);
}

void setText(napi_env env, napi_value object, const char* name, const std::string& text) {
  napi_value value;
  napi_create_string_utf8(env, text.c_str(), text.size(), &value);
  napi_set_named_property(env, object, name, value);
}

napi_value setErrorClass(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  EnvState& state = EnvState::of(env);
  if (state.errorClass != nullptr) napi_delete_reference(env, state.errorClass);
  state.errorClass = nullptr;
  if (napi_create_reference(env, arguments.at[0], 1, &state.errorClass) != napi_ok)
    throw RuntimeError("INVALID_ARGUMENT", "the error class must be a constructor.");
  return undefinedValue(env);
}

napi_value info(napi_env env, napi_callback_info) {
  const CpuInfo facts = cpuInfo();
  napi_value object;
  napi_create_object(env, &object);
  setNumber(env, object, "cores", static_cast<double>(availableCores()));
  setText(env, object, "level", facts.level);
  setText(env, object, "simd", facts.simd);
  setText(env, object, "model", facts.model);
  setNumber(env, object, "l1Bytes", static_cast<double>(facts.l1Bytes));
  setNumber(env, object, "l2Bytes", static_cast<double>(facts.l2Bytes));
  setNumber(env, object, "l3Bytes", static_cast<double>(facts.l3Bytes));
  return object;
}

napi_value stats(napi_env env, napi_callback_info) {
  napi_value object;
  napi_create_object(env, &object);
  setNumber(env, object, "liveBytes", static_cast<double>(HostMemory::liveBytes.load()));
  setNumber(env, object, "liveBuffers", static_cast<double>(HostMemory::liveBuffers.load()));
  int64_t external = 0;
  napi_adjust_external_memory(env, 0, &external);
  setNumber(env, object, "externalBytes", static_cast<double>(external));
  setNumber(env, object, "floatControlViolations",
            static_cast<double>(Pool::get().fpViolations.load()));
  return object;
}

napi_value threads(napi_env env, napi_callback_info) {
  napi_value count;
  napi_create_double(env, static_cast<double>(Pool::get().threads()), &count);
  return count;
}

napi_value setThreads(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Pool::get().setThreads(static_cast<size_t>(arguments.integer(0)));
  return undefinedValue(env);
}

napi_value suggestThreads(napi_env env, napi_callback_info info) {
  const Arguments<1> arguments(env, info);
  Pool::get().suggestThreads(static_cast<size_t>(arguments.integer(0)));
  return undefinedValue(env);
}

napi_value floatControl(napi_env env, napi_callback_info) {
  napi_value word;
  napi_create_double(env, static_cast<double>(fpControl()), &word);
  return word;
}

}  // namespace

void bindSystem(napi_env env, napi_value exports) {
  define<setErrorClass>(env, exports, "setErrorClass");
  define<mercer::cpu::info>(env, exports, "info");
  define<stats>(env, exports, "stats");
  define<threads>(env, exports, "threads");
  define<setThreads>(env, exports, "setThreads");
  define<suggestThreads>(env, exports, "suggestThreads");
  define<floatControl>(env, exports, "floatControl");
}

}  // namespace mercer::cpu
