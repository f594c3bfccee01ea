#include "workspace.h"

#include "cusolver_types.h"

namespace mercer {

Workspace::Workspace(Stream& stream, const Scratch& given, const WorkspaceBytes& needed)
    : device_(given.region.on(stream, given.bytes)), deviceBytes_(given.bytes) {
  if (given.bytes < needed.device || (needed.device > 0 && !device_))
    misuse("OUT_OF_RANGE", "the call needs a workspace of " + std::to_string(needed.device) +
                               " bytes on the device, got " + std::to_string(given.bytes));
  if (needed.host > 0) host_ = std::make_shared<std::vector<char>>(needed.host);
}

void Workspace::enqueued(Stream& stream) const {
  stream.launched(nullptr);
  if (host_) stream.keepUntilDone(host_);
}

size_t realBytes(int type) {
  if (type == cusolver::kSingle) return 4;
  if (type == cusolver::kDouble) return 8;
  misuse("INVALID_ARGUMENT", "the call takes float32 and float64, not cudaDataType " + std::to_string(type));
}

}  // namespace mercer
