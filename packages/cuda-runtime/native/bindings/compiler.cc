#include "../core/compile_pool.h"
#include "../core/nvrtc.h"
#include "call.h"

namespace mercer {

namespace {

Napi::Value outputOf(Napi::Env env, const CompileOutput& output) {
  auto object = Napi::Object::New(env);
  auto binary = Napi::Uint8Array::New(env, output.binary.size());
  if (!output.binary.empty()) __builtin_memcpy(binary.Data(), output.binary.data(), output.binary.size());
  object["binary"] = binary;
  object["log"] = Napi::String::New(env, output.log);
  auto names = Napi::Array::New(env);
  for (const auto& [expression, lowered] : output.loweredNames) {
    auto pair = Napi::Array::New(env);
    pair[0u] = Napi::String::New(env, expression);
    pair[1u] = Napi::String::New(env, lowered);
    names[names.Length()] = pair;
  }
  object["loweredNames"] = names;
  return object;
}

// (source, fileName, options, nameExpressions, ptx)
Napi::Value nvrtcCompile(const Napi::CallbackInfo& info) {
  CompileJob job{textOf(info[0]), textOf(info[1]), textsOf(info[2]), textsOf(info[3]), info[4].ToBoolean().Value()};
  auto pending = Environment::of(info.Env()).begin({}, {});
  runOnCompilePool([job = std::move(job), settle = pending.settle] {
    try {
      auto output = std::make_shared<CompileOutput>(compile(job));
      settle({std::nullopt, [output](Napi::Env env, const auto&) { return outputOf(env, *output); }});
    } catch (const Failure& failure) {
      settle({failure, {}});
    } catch (const std::exception& error) {
      Failure failure;
      failure.name = "OUT_OF_HOST_MEMORY";
      failure.what = error.what();
      settle({failure, {}});
    }
  });
  return pending.promise;
}

}  // namespace

void exportCompiler(Napi::Object exports) { method<nvrtcCompile>(exports, "nvrtcCompile"); }

}  // namespace mercer
