#include "device_copy.h"

namespace mercer {

void copyBetweenBuffers(Stream& stream, const SharedBuffer& to, uint64_t toOffset,
                        const SharedBuffer& from, uint64_t fromOffset, uint64_t bytes) {
  Device& device = stream.enter();
  const auto target = to->at(toOffset, bytes);
  const auto source = from->at(fromOffset, bytes);
  if (bytes == 0) return;
  if (&to->device() == &from->device()) {
    MERCER_CU(&device, cuMemcpyDtoDAsync, target, source, bytes, stream.handle());
  } else {
    MERCER_CU(&device, cuMemcpyPeerAsync, target, to->device().context(), source,
              from->device().context(), bytes, stream.handle());
  }
  if (stream.capturing()) {
    stream.keepForCapture(to);
    stream.keepForCapture(from);
  }
}

void setMemory(Stream& stream, const SharedBuffer& buffer, uint64_t offset, uint32_t value,
               uint64_t count, unsigned width) {
  Device& device = stream.enter();
  const auto address = buffer->at(offset, count * width);
  if (address % width)
    misuse("INVALID_ARGUMENT", "byte offset " + std::to_string(offset) + " is not a multiple of the width " +
                                   std::to_string(width));
  if (count == 0) return;
  switch (width) {
    case 1:
      MERCER_CU(&device, cuMemsetD8Async, address, static_cast<unsigned char>(value), count, stream.handle());
      break;
    case 2:
      MERCER_CU(&device, cuMemsetD16Async, address, static_cast<unsigned short>(value), count, stream.handle());
      break;
    case 4:
      MERCER_CU(&device, cuMemsetD32Async, address, value, count, stream.handle());
      break;
    default:
      misuse("INVALID_ARGUMENT", "memset writes elements of 1, 2 or 4 bytes, not " + std::to_string(width));
  }
  if (stream.capturing()) stream.keepForCapture(buffer);
}

bool canAccessPeer(Device& device, Device& peer) {
  if (&device == &peer) return true;
  int can = 0;
  MERCER_CU(nullptr, cuDeviceCanAccessPeer, &can, device.handle(), peer.handle());
  return can != 0;
}

void enablePeerAccess(Device& device, Device& peer) {
  if (&device == &peer) return;
  if (!canAccessPeer(device, peer))
    misuse("NO_PEER_ACCESS", "cuda:" + std::to_string(device.ordinal) + " cannot reach the memory of cuda:" +
                                 std::to_string(peer.ordinal) + " directly");
  device.enter();
  const auto result = driver().cuCtxEnablePeerAccess(peer.context(), 0);
  if (result != cu::kPeerAccessAlreadyEnabled) check(result, "cuCtxEnablePeerAccess", &device);
  if (!peer.pool()) return;
  cu::CUmemAccessDesc access{{1, device.handle()}, 3};
  MERCER_CU(&device, cuMemPoolSetAccess, peer.pool(), &access, size_t{1});
}

}  // namespace mercer
