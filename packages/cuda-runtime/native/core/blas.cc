#include "blas.h"

#include "exit.h"

namespace mercer {

namespace {
// What cuBLAS takes for itself on Hopper; 16 KiB is the least that it asks for.
constexpr uint64_t kWorkspaceBytes = uint64_t{32} << 20;
}  // namespace

Blas::Blas(Stream& stream) : device_(stream.enter()) {
  own_ = std::make_shared<DirectMemory>(device_, kWorkspaceBytes);
  MERCER_CUBLAS_CALL(stream, cublasCreate_v2, &handle_);
  try {
    MERCER_CUBLAS_CALL(stream, cublasSetStream_v2, handle_, stream.handle());
  } catch (...) {
    cublas::table().cublasDestroy_v2(handle_);
    throw;
  }
  // The first handle starts the CUDA runtime inside the library, which has exit handlers of its own.
  static std::once_flag once;
  std::call_once(once, [] { atProcessExit([] {}); });
}

Blas::~Blas() {
  if (device_.tryEnter()) cublas::table().cublasDestroy_v2(handle_);
}

cublas::Handle Blas::workingIn(const Scratch& scratch, Stream& stream) {
  const bool given = scratch.region.buffer != nullptr;
  void* memory = given ? scratch.region.on(stream, scratch.bytes) : own_->address();
  if (!given) stream.keepForCapture(own_);
  MERCER_CUBLAS_CALL(stream, cublasSetWorkspace_v2, handle_, memory, given ? scratch.bytes : own_->bytes);
  return handle_;
}

}  // namespace mercer
