#include <algorithm>

#include "../core/device_copy.h"
#include "kinds.h"

namespace mercer {

namespace {

cu::CUdevice deviceHandle(const Napi::Value& ordinal) {
  cu::CUdevice device = 0;
  MERCER_CU(nullptr, cuDeviceGet, &device, static_cast<int>(integerOf(ordinal)));
  return device;
}

Napi::Value deviceCount(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), Device::count());
}

/// Facts that need no context: asking for them does not touch the device's memory.
Napi::Value deviceInfo(const Napi::CallbackInfo& info) {
  const auto env = info.Env();
  const auto device = deviceHandle(info[0]);
  char name[256] = {};
  MERCER_CU(nullptr, cuDeviceGetName, name, static_cast<int>(sizeof name) - 1, device);
  cu::CUuuid uuid{};
  MERCER_CU(nullptr, cuDeviceGetUuid, &uuid, device);
  static const char digits[] = "0123456789abcdef";
  std::string text = "GPU-";
  for (int i = 0; i < 16; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    const auto byte = static_cast<unsigned char>(uuid.bytes[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  size_t total = 0;
  MERCER_CU(nullptr, cuDeviceTotalMem, &total, device);
  auto object = Napi::Object::New(env);
  object["name"] = Napi::String::New(env, name);
  object["uuid"] = Napi::String::New(env, text);
  object["totalBytes"] = Napi::Number::New(env, static_cast<double>(total));
  return object;
}

Napi::Value deviceAttribute(const Napi::CallbackInfo& info) {
  int value = 0;
  MERCER_CU(nullptr, cuDeviceGetAttribute, &value, static_cast<int>(integerOf(info[1])), deviceHandle(info[0]));
  return Napi::Number::New(info.Env(), value);
}

Napi::Value deviceOpen(const Napi::CallbackInfo& info) {
  Device& device = Device::get(static_cast<int>(integerOf(info[0])));
  auto use = std::make_shared<DeviceUse>(device, static_cast<uint32_t>(integerOf(info[1])));
  auto& uses = Environment::of(info.Env()).uses;
  uses.erase(std::remove_if(uses.begin(), uses.end(), [](const auto& weak) { return weak.expired(); }),
             uses.end());
  uses.push_back(use);
  return wrap(info.Env(), use);
}

Napi::Value deviceClose(const Napi::CallbackInfo& info) {
  if (auto use = take<DeviceUse>(info[0])) use->close();
  return info.Env().Undefined();
}

Napi::Value deviceMemory(const Napi::CallbackInfo& info) {
  Device& device = unwrap<DeviceUse>(info[0]).enter();
  size_t free = 0, total = 0;
  MERCER_CU(&device, cuMemGetInfo, &free, &total);
  auto object = Napi::Object::New(info.Env());
  object["freeBytes"] = Napi::Number::New(info.Env(), static_cast<double>(free));
  object["totalBytes"] = Napi::Number::New(info.Env(), static_cast<double>(total));
  return object;
}

Napi::Value deviceLive(const Napi::CallbackInfo& info) {
  Device& device = unwrap<DeviceUse>(info[0]).device;
  auto object = Napi::Object::New(info.Env());
  object["bytes"] = Napi::Number::New(info.Env(), static_cast<double>(device.liveBytes));
  object["buffers"] = Napi::Number::New(info.Env(), static_cast<double>(device.liveBuffers));
  return object;
}

/// The first fatal error as a JavaScript error, or undefined.
Napi::Value deviceCause(const Napi::CallbackInfo& info) {
  const auto cause = unwrap<DeviceUse>(info[0]).device.cause();
  if (!cause) return info.Env().Undefined();
  return Environment::of(info.Env()).makeError(*cause).Value();
}

Napi::Value deviceSynchronize(const Napi::CallbackInfo& info) {
  Device& device = unwrap<DeviceUse>(info[0]).enter();
  MERCER_CU(&device, cuCtxSynchronize);
  return info.Env().Undefined();
}

Napi::Value priorityRange(const Napi::CallbackInfo& info) {
  Device& device = unwrap<DeviceUse>(info[0]).enter();
  int least = 0, greatest = 0;
  MERCER_CU(&device, cuCtxGetStreamPriorityRange, &least, &greatest);
  auto pair = Napi::Array::New(info.Env());
  pair[0u] = Napi::Number::New(info.Env(), least);
  pair[1u] = Napi::Number::New(info.Env(), greatest);
  return pair;
}

Napi::Value peerAccessible(const Napi::CallbackInfo& info) {
  return Napi::Boolean::New(info.Env(), canAccessPeer(unwrap<DeviceUse>(info[0]).enter(),
                                                      unwrap<DeviceUse>(info[1]).enter()));
}

Napi::Value peerEnable(const Napi::CallbackInfo& info) {
  enablePeerAccess(unwrap<DeviceUse>(info[0]).enter(), unwrap<DeviceUse>(info[1]).enter());
  return info.Env().Undefined();
}

}  // namespace

void exportDevices(Napi::Object exports) {
  method<deviceCount>(exports, "deviceCount");
  method<deviceInfo>(exports, "deviceInfo");
  method<deviceAttribute>(exports, "deviceAttribute");
  method<deviceOpen>(exports, "deviceOpen");
  method<deviceClose>(exports, "deviceClose");
  method<deviceMemory>(exports, "deviceMemory");
  method<deviceLive>(exports, "deviceLive");
  method<deviceCause>(exports, "deviceCause");
  method<deviceSynchronize>(exports, "deviceSynchronize");
  method<priorityRange>(exports, "priorityRange");
  method<peerAccessible>(exports, "canAccessPeer");
  method<peerEnable>(exports, "enablePeerAccess");
}

}  // namespace mercer
