#include "staging.h"

#include "device.h"
#include "janitor.h"

namespace mercer {

namespace {
constexpr size_t kKept = 8;
}

SharedSlot Staging::take(size_t bytes) {
  void* slot = nullptr;
  const bool ordinary = bytes <= kSlotBytes;
  if (ordinary) {
    std::lock_guard lock(mutex_);
    if (!spare_.empty()) {
      slot = spare_.back();
      spare_.pop_back();
    }
  }
  if (!slot) MERCER_CU(&device_, cuMemHostAlloc, &slot, ordinary ? kSlotBytes : bytes, cu::kHostAllocPortable);
  return SharedSlot(slot, [this, ordinary](void* s) { giveBack(s, ordinary); });
}

void Staging::giveBack(void* slot, bool ordinary) noexcept {
  if (ordinary) {
    std::lock_guard lock(mutex_);
    if (spare_.size() < kKept) {
      spare_.push_back(slot);
      return;
    }
  }
  try {
    sweep(device_, [slot] { driver().cuMemFreeHost(slot); });
  } catch (...) {
    // Out of host memory: the slot is lost, nothing else.
  }
}

}  // namespace mercer
