// Temporary memory of cuSOLVER calls: the caller gives that of the device, the host's is taken here.
#pragma once

#include <vector>

#include "operand.h"

namespace mercer {

/// Bytes that a call needs on the device and on the host.
struct WorkspaceBytes {
  size_t device = 0, host = 0;
};

class Workspace {
 public:
  /// Throws `OUT_OF_RANGE` when the caller gave less than is needed.
  Workspace(Stream& stream, const Scratch& given, const WorkspaceBytes& needed);

  void* device() const noexcept { return device_; }
  size_t deviceBytes() const noexcept { return deviceBytes_; }
  void* host() const noexcept { return host_ ? host_->data() : nullptr; }
  size_t hostBytes() const noexcept { return host_ ? host_->size() : 0; }
  /// Counts the call as a launch, and keeps the host's part until the work enqueued so far is done.
  void enqueued(Stream& stream) const;

 private:
  void* device_;
  size_t deviceBytes_;
  std::shared_ptr<std::vector<char>> host_;
};

/// Bytes of one element of a cudaDataType; throws `INVALID_ARGUMENT` unless it is float32 or float64.
size_t realBytes(int type);

}  // namespace mercer
