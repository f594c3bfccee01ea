#include "event.h"

namespace mercer {

Event::Event(SharedUse shared, bool wantTiming) : use(std::move(shared)), timing(wantTiming) {
  Device& device = use->enter();
  cu::CUevent event = nullptr;
  MERCER_CU(&device, cuEventCreate, &event, timing ? 0u : cu::kEventDisableTiming);
  event_ = std::shared_ptr<cu::CUevent_st>(event, [use = use](cu::CUevent e) {
    if (use->device.tryEnter()) driver().cuEventDestroy(e);
  });
}

void Event::record(Stream& stream) {
  Device& device = stream.enter();
  if (&device != &use->device)
    misuse("DEVICE_MISMATCH", "an event of cuda:" + std::to_string(use->device.ordinal) +
                                  " cannot be recorded on a stream of cuda:" +
                                  std::to_string(device.ordinal));
  MERCER_CU(&device, cuEventRecord, event_.get(), stream.handle());
  stream.keepForCapture(event_);
  recorded_ = true;
  capture_ = stream.captured();
}

void Event::waitedBy(Stream& stream) {
  use->enter();
  Device& device = stream.enter();
  MERCER_CU(&device, cuStreamWaitEvent, stream.handle(), event_.get(), 0u);
  stream.joinCapture(capture_.lock());
  stream.keepForCapture(event_);
}

bool Event::query() {
  Device& device = use->enter();
  const auto result = driver().cuEventQuery(event_.get());
  if (result == cu::kNotReady) return false;
  check(result, "cuEventQuery", &device);
  return true;
}

void Event::whenDone(Waiter::Done done) {
  Device& device = use->enter();
  device.waiter.add(event_.get(), event_, std::move(done));
}

float Event::elapsedMs(const Event& since) {
  if (!timing || !since.timing)
    misuse("NO_TIMING", "both events must be made with timing: true to be subtracted");
  if (!recorded_ || !since.recorded_)
    misuse("NOT_RECORDED", "both events must have been recorded before they can be subtracted");
  Device& device = use->enter();
  float ms = 0;
  const auto result = driver().cuEventElapsedTime(&ms, since.event_.get(), event_.get());
  if (result == cu::kNotReady)
    misuse("NOT_READY", "the time between two events is known only once both are done");
  check(result, "cuEventElapsedTime", &device);
  return ms;
}

}  // namespace mercer
