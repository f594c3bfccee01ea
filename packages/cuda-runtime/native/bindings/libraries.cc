#include "../core/cublas.h"
#include "../core/cublaslt.h"
#include "../core/cusolver.h"
#include "../core/driver.h"
#include "../core/nccl.h"
#include "../core/nvrtc.h"
#include "call.h"

namespace mercer {

namespace {

std::vector<Candidate> candidatesOf(const Napi::Value& value) {
  const auto array = value.As<Napi::Array>();
  std::vector<Candidate> candidates;
  for (uint32_t i = 0; i < array.Length(); i++) {
    const auto item = array.Get(i).As<Napi::Object>();
    candidates.push_back({textOf(item.Get("path")), item.Get("onlyIfLoaded").ToBoolean().Value()});
  }
  return candidates;
}

Napi::Value resultOf(Napi::Env env, const OpenResult& result) {
  auto object = Napi::Object::New(env);
  object["opened"] = Napi::Boolean::New(env, result.opened);
  object["path"] = Napi::String::New(env, result.path);
  auto attempts = Napi::Array::New(env);
  for (const auto& attempt : result.attempts) {
    auto item = Napi::Object::New(env);
    item["path"] = Napi::String::New(env, attempt.path);
    item["error"] = Napi::String::New(env, attempt.error);
    attempts[attempts.Length()] = item;
  }
  object["attempts"] = attempts;
  return object;
}

Napi::Value openDriverLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openDriver(candidatesOf(info[0])));
}

Napi::Value openNvrtcLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openNvrtc(candidatesOf(info[0]), static_cast<int>(integerOf(info[1]))));
}

Napi::Value openCusolverLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openCusolver(candidatesOf(info[0])));
}

Napi::Value openCublasLtLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openCublasLt(candidatesOf(info[0])));
}

Napi::Value openCublasLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openCublas(candidatesOf(info[0])));
}

Napi::Value openNcclLibrary(const Napi::CallbackInfo& info) {
  return resultOf(info.Env(), openNccl(candidatesOf(info[0])));
}

Napi::Value ncclNumber(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), nccl::version());
}

Napi::Value cusolverNumber(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), cusolver::version());
}

Napi::Value cublasLtNumber(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), cublaslt::version());
}

Napi::Value cublasNumber(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), cublas::version());
}

Napi::Value version(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), driverVersion());
}

Napi::Value nvrtcDescription(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const NvrtcInfo description = nvrtcInfo();
  auto object = Napi::Object::New(env);
  object["major"] = Napi::Number::New(env, description.major);
  object["minor"] = Napi::Number::New(env, description.minor);
  object["identity"] = Napi::String::New(env, description.identity);
  auto archs = Napi::Array::New(env);
  for (int arch : description.archs) archs[archs.Length()] = Napi::Number::New(env, arch);
  object["archs"] = archs;
  return object;
}

}  // namespace

void exportLibraries(Napi::Object exports) {
  method<openDriverLibrary>(exports, "openDriver");
  method<openNvrtcLibrary>(exports, "openNvrtc");
  method<version>(exports, "driverVersion");
  method<nvrtcDescription>(exports, "nvrtcInfo");
  method<openCusolverLibrary>(exports, "openCusolver");
  method<openCublasLtLibrary>(exports, "openCublasLt");
  method<openCublasLibrary>(exports, "openCublas");
  method<openNcclLibrary>(exports, "openNccl");
  method<ncclNumber>(exports, "ncclVersion");
  method<cusolverNumber>(exports, "cusolverVersion");
  method<cublasLtNumber>(exports, "cublasLtVersion");
  method<cublasNumber>(exports, "cublasVersion");
}

}  // namespace mercer
