// Device memory as library calls get it from JavaScript: a buffer's handle and numbers.
#pragma once

#include "../core/workspace.h"
#include "kinds.h"

namespace mercer {

/// Reads the arguments of a call from left to right.
class Arguments {
 public:
  Arguments(const Napi::CallbackInfo& info, size_t first) : info_(info), next_(first) {}

  int64_t count() { return static_cast<int64_t>(bytesOf(info_[next_++])); }
  int choice() { return static_cast<int>(integerOf(info_[next_++])); }
  double number() { return info_[next_++].As<Napi::Number>().DoubleValue(); }

  /// A buffer's handle and a byte offset.
  Region region() {
    auto buffer = share<Buffer>(info_[next_++]);
    return {std::move(buffer), bytesOf(info_[next_++])};
  }

  /// The same, or undefined and anything.
  Region optionalRegion() {
    if (!info_[next_].IsUndefined()) return region();
    next_ += 2;
    return {};
  }

  /// A region and its bytes, or undefined, anything and 0.
  Scratch scratch() {
    Region memory = optionalRegion();
    return {std::move(memory), bytesOf(info_[next_++])};
  }

 private:
  const Napi::CallbackInfo& info_;
  size_t next_;
};

/// {deviceBytes, hostBytes}
inline Napi::Value workspaceOf(Napi::Env env, const WorkspaceBytes& bytes) {
  auto object = Napi::Object::New(env);
  object["deviceBytes"] = Napi::Number::New(env, static_cast<double>(bytes.device));
  object["hostBytes"] = Napi::Number::New(env, static_cast<double>(bytes.host));
  return object;
}

}  // namespace mercer
