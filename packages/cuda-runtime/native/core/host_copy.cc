#include "host_copy.h"

#include <algorithm>
#include <cstring>

namespace mercer {

void HostAccess::copy(void* to, const void* from, size_t bytes) {
  std::lock_guard lock(mutex_);
  if (!cancelled_) std::memcpy(to, from, bytes);
}

namespace {

/// What the driver's callbacks of one large copy refer to. Freed by the waiter once all have run;
/// leaked when the device died, since a callback might still come.
struct LargeCopy {
  struct Step {
    HostAccess* access;
    void* to;
    const void* from;
    size_t bytes;
  };
  SharedAccess access;
  SharedSlot slot;
  std::vector<Step> steps;

  static void run(void* data) {
    const auto* step = static_cast<Step*>(data);
    step->access->copy(step->to, step->from, step->bytes);
  }
};

/// The buffer, unless it is freed in this stream's order anyway: then it need not outlive the copy.
SharedBuffer heldFor(const Stream& stream, const SharedBuffer& buffer) {
  return buffer->stream.get() == &stream ? nullptr : buffer;
}

/// A driver blocks in the call once about 56 host callbacks stand between copies of busy streams
/// (measured, driver 580), so larger copies take larger steps.
constexpr size_t kMostCallbacks = 40;

size_t stepFor(const Device& device, size_t bytes) {
  for (size_t step = Staging::kSlotBytes; step < Staging::kSlotBytes * 16; step *= 4)
    if ((bytes + step - 1) / step + device.pendingCallbacks <= kMostCallbacks) return step;
  return Staging::kSlotBytes * 16;
}

template <typename Enqueue>
void enqueueLarge(Stream& stream, const SharedBuffer& buffer, size_t bytes, const SharedAccess& access,
                  Waiter::Done done, Enqueue enqueue) {
  Device& device = stream.enter();
  const size_t step = stepFor(device, bytes);
  auto* copy = new LargeCopy{access, device.staging.take(step), {}};
  const size_t count = (bytes + step - 1) / step;
  copy->steps.reserve(count);  // steps never move
  device.pendingCallbacks += count;
  try {
    for (size_t at = 0; at < bytes; at += step) enqueue(device, *copy, at, std::min(step, bytes - at));
    stream.whenDone([copy, done, count, &device, held = heldFor(stream, buffer)](const Failure* failure) mutable {
      device.pendingCallbacks -= count;
      if (failure)
        copy->access->cancel();
      else
        delete copy;
      held.reset();  // before the promise settles: whoever awaits it finds the memory freed
      done(failure);
    });
  } catch (...) {
    // Callbacks already enqueued still run; what they refer to stays.
    access->cancel();
    device.pendingCallbacks -= count;
    throw;
  }
}

}  // namespace

void copyToDeviceNow(Stream& stream, const SharedBuffer& to, uint64_t offset, const void* from,
                     size_t bytes) {
  stream.refuseCapture("copying from pageable memory");
  Device& device = stream.enter();
  const auto address = to->at(offset, bytes);
  if (bytes == 0) return;
  if (bytes <= kInlineBytes || bytes > Staging::kSlotBytes) {
    // Pageable: the driver returns when it has taken the bytes.
    MERCER_CU(&device, cuMemcpyHtoDAsync, address, from, bytes, stream.handle());
    return;
  }
  auto slot = device.staging.take();
  std::memcpy(slot.get(), from, bytes);
  MERCER_CU(&device, cuMemcpyHtoDAsync, address, slot.get(), bytes, stream.handle());
  stream.whenDone([slot, held = heldFor(stream, to)](const Failure*) {});
}

void copyToDeviceLater(Stream& stream, const SharedBuffer& to, uint64_t offset, const void* from,
                       size_t bytes, const SharedAccess& access, Waiter::Done done) {
  stream.refuseCapture("copying from pageable memory");
  const auto address = to->at(offset, bytes);
  enqueueLarge(stream, to, bytes, access, std::move(done),
               [&](Device& device, LargeCopy& copy, size_t at, size_t size) {
                 copy.steps.push_back(
                     {access.get(), copy.slot.get(), static_cast<const char*>(from) + at, size});
                 MERCER_CU(&device, cuLaunchHostFunc, stream.handle(), LargeCopy::run,
                           &copy.steps.back());
                 MERCER_CU(&device, cuMemcpyHtoDAsync, address + at, copy.slot.get(), size,
                           stream.handle());
               });
}

void copyToSlot(Stream& stream, const SharedBuffer& from, uint64_t offset, size_t bytes,
                std::function<void(const Failure*, SharedSlot)> done) {
  stream.refuseCapture("copying to pageable memory");
  Device& device = stream.enter();
  const auto address = from->at(offset, bytes);
  auto slot = device.staging.take();
  if (bytes > 0) MERCER_CU(&device, cuMemcpyDtoHAsync, slot.get(), address, bytes, stream.handle());
  stream.whenDone(
      [slot, held = heldFor(stream, from), done = std::move(done)](const Failure* f) mutable {
        held.reset();
        done(f, std::move(slot));
      });
}

void copyToHostLater(Stream& stream, void* to, const SharedBuffer& from, uint64_t offset,
                     size_t bytes, const SharedAccess& access, Waiter::Done done) {
  stream.refuseCapture("copying to pageable memory");
  const auto address = from->at(offset, bytes);
  enqueueLarge(stream, from, bytes, access, std::move(done),
               [&](Device& device, LargeCopy& copy, size_t at, size_t size) {
                 MERCER_CU(&device, cuMemcpyDtoHAsync, copy.slot.get(), address + at, size,
                           stream.handle());
                 copy.steps.push_back(
                     {access.get(), static_cast<char*>(to) + at, copy.slot.get(), size});
                 MERCER_CU(&device, cuLaunchHostFunc, stream.handle(), LargeCopy::run,
                           &copy.steps.back());
               });
}

namespace {

char* inside(const Pinned& pinned, uint64_t offset, uint64_t bytes) {
  if (offset > pinned.bytes || bytes > pinned.bytes - offset)
    misuse("OUT_OF_RANGE", "bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                               " do not lie in a pinned buffer of " + std::to_string(pinned.bytes));
  return static_cast<char*>(pinned.data()) + offset;
}

/// The end of a pinned copy: part of a graph, or watched by the waiter.
void finish(Stream& stream, const SharedBuffer& buffer, const std::shared_ptr<Pinned>& pinned,
            Waiter::Done done) {
  if (stream.capturing()) {
    stream.keepForCapture(buffer);
    stream.keepForCapture(pinned);
    done(nullptr);
    return;
  }
  stream.whenDone([held = heldFor(stream, buffer), owner = pinned,
                   done = std::move(done)](const Failure* f) mutable {
    held.reset();
    owner.reset();
    done(f);
  });
}

}  // namespace

void copyFromPinned(Stream& stream, const SharedBuffer& to, uint64_t offset,
                    const std::shared_ptr<Pinned>& from, uint64_t fromOffset, uint64_t bytes,
                    Waiter::Done done) {
  Device& device = stream.enter();
  const auto address = to->at(offset, bytes);
  const auto* data = inside(*from, fromOffset, bytes);
  if (bytes > 0) MERCER_CU(&device, cuMemcpyHtoDAsync, address, data, bytes, stream.handle());
  finish(stream, to, from, std::move(done));
}

void copyToPinned(Stream& stream, const std::shared_ptr<Pinned>& to, uint64_t toOffset,
                  const SharedBuffer& from, uint64_t offset, uint64_t bytes, Waiter::Done done) {
  Device& device = stream.enter();
  const auto address = from->at(offset, bytes);
  auto* data = inside(*to, toOffset, bytes);
  if (bytes > 0) MERCER_CU(&device, cuMemcpyDtoHAsync, data, address, bytes, stream.handle());
  finish(stream, from, to, std::move(done));
}

}  // namespace mercer
