#include "staging.h"

#include "device.h"
#include "janitor.h"

namespace mercer {

namespace {
constexpr size_t kKept = 8;
}

SharedSlot Staging::take() {
  void* slot = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      slot = spare_.back();
      spare_.pop_back();
    }
  }
  if (!slot) MERCER_CU(&device_, cuMemHostAlloc, &slot, kSlotBytes, cu::kHostAllocPortable);
  return SharedSlot(slot, [this](void* s) { giveBack(s); });
}

void Staging::giveBack(void* slot) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (spare_.size() < kKept) {
      spare_.push_back(slot);
      return;
    }
  }
  try {
    sweep([this, slot] {
      if (device_.tryEnter()) driver().cuMemFreeHost(slot);
    });
  } catch (...) {
    // Out of host memory: the slot is lost, nothing else.
  }
}

}  // namespace mercer
