// Copies between device buffers, memset, and access between devices.
#pragma once

#include "host_copy.h"

namespace mercer {

void copyBetweenBuffers(Stream& stream, const SharedBuffer& to, uint64_t toOffset,
                        const SharedBuffer& from, uint64_t fromOffset, uint64_t bytes);
/// `count` elements of `width` 1, 2 or 4 bytes.
void setMemory(Stream& stream, const SharedBuffer& buffer, uint64_t offset, uint32_t value,
               uint64_t count, unsigned width);
bool canAccessPeer(Device& device, Device& peer);
/// Lets kernels and copies of `device` reach memory of `peer`, its pool included.
void enablePeerAccess(Device& device, Device& peer);

}  // namespace mercer
