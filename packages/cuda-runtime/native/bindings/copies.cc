#include <cstring>

#include "../core/device_copy.h"
#include "kinds.h"

namespace mercer {

namespace {

/// `bytes` from `offset` of host memory; throws if they do not lie inside.
uint8_t* part(const HostMemory& memory, uint64_t offset, uint64_t bytes) {
  if (offset > memory.bytes || bytes > memory.bytes - offset)
    misuse("OUT_OF_RANGE", "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                               " do not lie in host memory of " + std::to_string(memory.bytes) + " bytes");
  return memory.data + offset;
}

// (stream, buffer, offset, memory, memoryOffset, bytes): true if the bytes were taken at once, else a promise.
Napi::Value toDevice(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const auto to = share<Buffer>(info[1]);
  const uint64_t offset = bytesOf(info[2]), bytes = bytesOf(info[5]);
  const uint8_t* from = part(memoryOf(info[3]), bytesOf(info[4]), bytes);
  if (bytes <= Staging::kSlotBytes) {
    copyToDeviceNow(stream, to, offset, from, bytes);
    return Napi::Boolean::New(info.Env(), true);
  }
  auto access = std::make_shared<HostAccess>();
  return promiseOf(
      info.Env(), {info[3]},
      [&](Waiter::Done done) { copyToDeviceLater(stream, to, offset, from, bytes, access, std::move(done)); },
      [access] { access->cancel(); });
}

Napi::Value toDeviceSync(const Napi::CallbackInfo& info) {
  const uint64_t bytes = bytesOf(info[5]);
  const uint8_t* from = part(memoryOf(info[3]), bytesOf(info[4]), bytes);
  copyToDeviceNow(unwrap<Stream>(info[0]), share<Buffer>(info[1]), bytesOf(info[2]), from, bytes);
  return info.Env().Undefined();
}

/// Settles by moving the bytes out of the slot on the JavaScript thread, where a detached or shrunk
/// destination is seen.
Napi::Value smallToHost(const Napi::CallbackInfo& info, Stream& stream, const SharedBuffer& from,
                        uint64_t offset, uint64_t memoryOffset, uint64_t bytes) {
  auto pending = Environment::of(info.Env()).begin({info[3]}, {});
  const auto settle = pending.settle;
  try {
    copyToSlot(stream, from, offset, bytes, [=](const Failure* failure, SharedSlot slot) {
      if (failure) return settle({*failure, {}});
      settle({std::nullopt, [=](Napi::Env env, const std::vector<Napi::Value>& kept) -> Napi::Value {
                uint8_t* to = part(memoryOf(kept[0]), memoryOffset, bytes);
                if (bytes > 0) std::memcpy(to, slot.get(), bytes);
                return env.Undefined();
              }});
    });
  } catch (const Failure& failure) {
    settle({failure, {}});
  }
  return pending.promise;
}

// (stream, buffer, offset, memory, memoryOffset, bytes)
Napi::Value toHost(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const auto from = share<Buffer>(info[1]);
  const uint64_t offset = bytesOf(info[2]), memoryOffset = bytesOf(info[4]), bytes = bytesOf(info[5]);
  uint8_t* to = part(memoryOf(info[3]), memoryOffset, bytes);
  if (bytes <= Staging::kSlotBytes) return smallToHost(info, stream, from, offset, memoryOffset, bytes);
  auto access = std::make_shared<HostAccess>();
  return promiseOf(
      info.Env(), {info[3]},
      [&](Waiter::Done done) { copyToHostLater(stream, to, from, offset, bytes, access, std::move(done)); },
      [access] { access->cancel(); });
}

Napi::Value toHostSync(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const auto from = share<Buffer>(info[1]);
  const uint64_t bytes = bytesOf(info[5]);
  const auto address = from->at(bytesOf(info[2]), bytes);
  uint8_t* to = part(memoryOf(info[3]), bytesOf(info[4]), bytes);
  stream.refuseCapture("copying to pageable memory");
  Device& device = stream.enter();
  if (bytes > 0) MERCER_CU(&device, cuMemcpyDtoHAsync, to, address, bytes, stream.handle());
  stream.synchronize();
  return info.Env().Undefined();
}

// (stream, buffer, offset, pinned, pinnedOffset, bytes)
Napi::Value pinnedToDevice(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const auto to = share<Buffer>(info[1]);
  const auto from = share<Pinned>(info[3]);
  const uint64_t offset = bytesOf(info[2]), fromOffset = bytesOf(info[4]), bytes = bytesOf(info[5]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) {
    copyFromPinned(stream, to, offset, from, fromOffset, bytes, std::move(done));
  });
}

Napi::Value deviceToPinned(const Napi::CallbackInfo& info) {
  Stream& stream = unwrap<Stream>(info[0]);
  const auto from = share<Buffer>(info[1]);
  const auto to = share<Pinned>(info[3]);
  const uint64_t offset = bytesOf(info[2]), toOffset = bytesOf(info[4]), bytes = bytesOf(info[5]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) {
    copyToPinned(stream, to, toOffset, from, offset, bytes, std::move(done));
  });
}

// (stream, to, toOffset, from, fromOffset, bytes)
Napi::Value betweenBuffers(const Napi::CallbackInfo& info) {
  copyBetweenBuffers(unwrap<Stream>(info[0]), share<Buffer>(info[1]), bytesOf(info[2]), share<Buffer>(info[3]),
                     bytesOf(info[4]), bytesOf(info[5]));
  return info.Env().Undefined();
}

// (stream, buffer, offset, value, count, width)
Napi::Value memset(const Napi::CallbackInfo& info) {
  setMemory(unwrap<Stream>(info[0]), share<Buffer>(info[1]), bytesOf(info[2]),
            static_cast<uint32_t>(integerOf(info[3])), bytesOf(info[4]), static_cast<unsigned>(integerOf(info[5])));
  return info.Env().Undefined();
}

}  // namespace

void exportCopies(Napi::Object exports) {
  method<toDevice>(exports, "copyToDevice");
  method<toDeviceSync>(exports, "copyToDeviceSync");
  method<toHost>(exports, "copyToHost");
  method<toHostSync>(exports, "copyToHostSync");
  method<pinnedToDevice>(exports, "copyFromPinned");
  method<deviceToPinned>(exports, "copyToPinned");
  method<betweenBuffers>(exports, "copyBetweenBuffers");
  method<memset>(exports, "memset");
}

}  // namespace mercer
