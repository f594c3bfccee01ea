// Page-locked host memory that the device reads and writes without staging.
#pragma once

#include "device.h"

namespace mercer {

class Pinned {
 public:
  Pinned(SharedUse use, uint64_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;

  const SharedUse use;
  const uint64_t bytes;
  void* data() const noexcept { return data_; }

 private:
  void* data_ = nullptr;
};

}  // namespace mercer
