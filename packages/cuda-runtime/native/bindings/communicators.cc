#include "../core/nccl.h"

#include <cstring>

#include "operands.h"

namespace mercer {

namespace {

Napi::Value uniqueId(const Napi::CallbackInfo& info) {
  nccl::UniqueId id;
  const nccl::Result result = nccl::table().ncclGetUniqueId(&id);
  if (result != nccl::kSuccess) throw nccl::failureOf(result, "ncclGetUniqueId", -1, nullptr);
  auto bytes = Napi::Uint8Array::New(info.Env(), sizeof id.internal);
  std::memcpy(bytes.Data(), id.internal, sizeof id.internal);
  return bytes;
}

// (device, size, rank, timeoutMs)
Napi::Value communicatorCreate(const Napi::CallbackInfo& info) {
  const auto size = integerOf(info[1]), rank = integerOf(info[2]);
  const std::chrono::milliseconds timeout(static_cast<int64_t>(bytesOf(info[3])));
  return wrap(info.Env(), std::make_shared<Communicator>(share<DeviceUse>(info[0]), static_cast<int>(size),
                                                         static_cast<int>(rank), timeout));
}

// (communicator, id)
Napi::Value communicatorJoin(const Napi::CallbackInfo& info) {
  const auto communicator = share<Communicator>(info[0]);
  const HostMemory given = memoryOf(info[1]);
  nccl::UniqueId id;
  if (given.bytes != sizeof id.internal)
    misuse("INVALID_ARGUMENT", "an id has " + std::to_string(sizeof id.internal) + " bytes, got " +
                                   std::to_string(given.bytes));
  std::memcpy(id.internal, given.data, sizeof id.internal);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { communicator->join(id, std::move(done)); });
}

// (communicator, stream, gathers, type, reduction, count, input, offset, output, offset)
Napi::Value communicatorRun(const Napi::CallbackInfo& info) {
  const auto communicator = share<Communicator>(info[0]);
  const auto stream = share<Stream>(info[1]);
  Arguments take(info, 2);
  Collective collective;
  collective.gathers = take.choice() != 0;
  collective.type = take.choice();
  collective.reduction = take.choice();
  collective.count = take.count();
  collective.input = take.region();
  collective.output = take.region();
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) {
    communicator->run(stream, std::move(collective), std::move(done));
  });
}

Napi::Value communicatorClose(const Napi::CallbackInfo& info) {
  const auto communicator = share<Communicator>(info[0]);
  return promiseOf(info.Env(), {}, [&](Waiter::Done done) { communicator->close(std::move(done)); });
}

Napi::Value communicatorAbort(const Napi::CallbackInfo& info) {
  unwrap<Communicator>(info[0]).abort();
  return info.Env().Undefined();
}

Napi::Value communicatorDispose(const Napi::CallbackInfo& info) {
  if (const auto communicator = take<Communicator>(info[0])) {
    communicator->abort();
    communicator->close([](const Failure*) {});
  }
  return info.Env().Undefined();
}

}  // namespace

void exportCommunicators(Napi::Object exports) {
  method<uniqueId>(exports, "ncclUniqueId");
  method<communicatorCreate>(exports, "communicatorCreate");
  method<communicatorJoin>(exports, "communicatorJoin");
  method<communicatorRun>(exports, "communicatorRun");
  method<communicatorClose>(exports, "communicatorClose");
  method<communicatorAbort>(exports, "communicatorAbort");
  method<communicatorDispose>(exports, "communicatorDispose");
}

}  // namespace mercer
