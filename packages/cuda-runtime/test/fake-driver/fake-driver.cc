// Devices, contexts, streams, events.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "state.h"

using namespace fake;

FAKE cuInit(unsigned) {
  if (!devices().empty()) return 0;
  const long count = setting("DEVICES", 1);
  for (int i = 0; i < count; i++) devices().push_back(new Device{i});
  return count > 0 ? 0 : kNoDevice;
}

FAKE cuDriverGetVersion(int* version) {
  *version = static_cast<int>(setting("DRIVER_VERSION", 13000));
  return 0;
}

FAKE cuGetErrorName(int code, const char** text) {
  static const std::map<int, const char*> names = {
      {0, "CUDA_SUCCESS"},
      {1, "CUDA_ERROR_INVALID_VALUE"},
      {2, "CUDA_ERROR_OUT_OF_MEMORY"},
      {100, "CUDA_ERROR_NO_DEVICE"},
      {200, "CUDA_ERROR_INVALID_IMAGE"},
      {201, "CUDA_ERROR_INVALID_CONTEXT"},
      {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {500, "CUDA_ERROR_NOT_FOUND"},
      {600, "CUDA_ERROR_NOT_READY"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"},
      {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
      {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"},
      {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
  };
  const auto found = names.find(code);
  if (found == names.end()) return kInvalidValue;
  *text = found->second;
  return 0;
}

FAKE cuGetErrorString(int, const char** text) {
  *text = "an error of the fake driver";
  return 0;
}

FAKE cuDeviceGetCount(int* count) {
  *count = static_cast<int>(devices().size());
  return 0;
}

FAKE cuDeviceGet(int* device, int ordinal) {
  if (ordinal < 0 || ordinal >= static_cast<int>(devices().size())) return 101;
  *device = ordinal;
  return 0;
}

FAKE cuDeviceGetName(char* name, int length, int device) {
  std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), length);
  return 0;
}

FAKE cuDeviceGetUuid_v2(char* uuid, int device) {
  for (int i = 0; i < 16; i++) uuid[i] = static_cast<char>(i * 16 + device);
  return 0;
}

FAKE cuDeviceTotalMem_v2(size_t* bytes, int device) {
  *bytes = devices()[device]->total();
  return 0;
}

FAKE cuDeviceGetAttribute(int* value, int attribute, int) {
  auto& c = counters();
  const std::atomic<int>* counts[] = {&c.streams, &c.events, &c.buffers, &c.pinned,    &c.modules, &c.graphs,
                                      &c.execs,   &c.launches, &c.hostCalls, &c.trims, &c.pools,   &c.contexts};
  if (attribute >= 10000 && attribute < 10012) {
    *value = *counts[attribute - 10000];
    return 0;
  }
  static const std::map<int, int> values = {{1, 1024},  {2, 1024},   {5, 2147483647}, {8, 49152}, {10, 32},
                                            {16, 132},  {38, 52428800}, {81, 233472}, {82, 65536}, {97, 232448},
                                            {78, 1},    {120, 1},    {127, 1}};
  if (attribute == 75 || attribute == 76) {
    const long capability = setting("CAPABILITY", 90);
    *value = static_cast<int>(attribute == 75 ? capability / 10 : capability % 10);
  } else if (attribute == 115) {
    *value = static_cast<int>(setting("POOLS", 1));
  } else {
    const auto found = values.find(attribute);
    const long usual = found == values.end() ? 0 : found->second;
    *value = static_cast<int>(setting(("ATTRIBUTE_" + std::to_string(attribute)).c_str(), usual));
  }
  return 0;
}

FAKE cuDeviceCanAccessPeer(int* can, int a, int b) {
  *can = a != b && setting("PEER", 1);
  return 0;
}

FAKE cuDevicePrimaryCtxRetain(Device** context, int device) {
  *context = devices()[device];
  counters().contexts++;
  return 0;
}

FAKE cuCtxSetCurrent(Device* context) {
  current() = context;
  return 0;
}

FAKE cuCtxSynchronize() {
  if (const int status = contextStatus()) return status;
  current()->drain();
  current()->settle();
  return current()->fault;
}

FAKE cuCtxEnablePeerAccess(Device* peer, unsigned) {
  if (const int status = contextStatus()) return status;
  return current()->peers.insert(peer).second ? 0 : kPeerEnabled;
}

FAKE cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return contextStatus();
}

FAKE cuStreamCreateWithPriority(Stream** stream, unsigned, int) {
  if (const int status = contextStatus()) return status;
  *stream = new Stream{current()};
  {
    std::lock_guard lock(current()->streamsMutex);
    current()->streams.insert(*stream);
  }
  counters().streams++;
  std::thread([s = *stream] { s->run(); }).detach();
  return 0;
}

FAKE cuStreamDestroy_v2(Stream* stream) {
  std::lock_guard lock(stream->mutex);
  stream->closing = true;
  stream->changed.notify_all();
  return 0;
}

FAKE cuStreamQuery(Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (stream->capture) return kCaptureUnsupported;
  return stream->idle() ? static_cast<int>(stream->device->fault) : kNotReady;
}

FAKE cuStreamSynchronize(Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (stream->capture) return kCaptureUnsupported;
  stream->drain();
  stream->device->settle();
  return stream->device->fault;
}

FAKE cuLaunchHostFunc(Stream* stream, void (*call)(void*), void* data) {
  if (const int status = contextStatus()) return status;
  stream->add([=] {
    counters().hostCalls++;
    call(data);
  });
  return 0;
}

FAKE cuEventCreate(Event** event, unsigned flags) {
  if (const int status = contextStatus()) return status;
  *event = new Event{current(), (flags & 2) == 0};
  counters().events++;
  return 0;
}

// Tasks may still refer to the event, so it is emptied of meaning but not deleted.
FAKE cuEventDestroy_v2(Event*) {
  counters().events--;
  return 0;
}

FAKE cuEventRecord(Event* event, Stream* stream) {
  if (const int status = contextStatus()) return status;
  if (event->device != stream->device) return 400;
  if (stream->capture) return 0;
  uint64_t mine;
  {
    std::lock_guard lock(event->mutex);
    mine = ++event->recorded;
  }
  stream->add([=] {
    std::lock_guard lock(event->mutex);
    event->reached = std::max(event->reached, mine);
    event->at = std::chrono::steady_clock::now();
    event->changed.notify_all();
  });
  return 0;
}

FAKE cuEventQuery(Event* event) {
  if (const int status = contextStatus()) return status;
  if (event->device->fault) return event->device->fault;
  std::lock_guard lock(event->mutex);
  return event->reached == event->recorded ? 0 : kNotReady;
}

FAKE cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  if (const int status = contextStatus()) return status;
  uint64_t wanted;
  {
    std::lock_guard lock(event->mutex);
    wanted = event->recorded;
  }
  stream->add([=] {
    std::unique_lock lock(event->mutex);
    while (event->reached < wanted && !event->device->fault)
      event->changed.wait_for(lock, std::chrono::milliseconds(5));
  });
  return 0;
}

FAKE cuEventElapsedTime(float* ms, Event* a, Event* b) {
  if (!a->timing || !b->timing) return 400;
  if (a->reached != a->recorded || b->reached != b->recorded) return kNotReady;
  *ms = std::chrono::duration<float, std::milli>(b->at - a->at).count();
  return 0;
}
