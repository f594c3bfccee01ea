#include "spare_events.h"

#include "device.h"

namespace mercer {

namespace {
constexpr size_t kKept = 256;
}

SharedEvent SpareEvents::take() {
  cu::CUevent event = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      event = spare_.back();
      spare_.pop_back();
    }
  }
  if (!event) MERCER_CU(&device_, cuEventCreate, &event, cu::kEventDisableTiming);
  return SharedEvent(event, [this](cu::CUevent e) { giveBack(e); });
}

void SpareEvents::giveBack(cu::CUevent event) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (spare_.size() < kKept) {
      spare_.push_back(event);
      return;
    }
  }
  if (device_.tryEnter()) driver().cuEventDestroy(event);
}

}  // namespace mercer
