// The cuBLAS handle of one stream.
#pragma once

#include "cublas.h"
#include "direct_memory.h"
#include "operand.h"

namespace mercer {

class Blas {
 public:
  explicit Blas(Stream& stream);
  ~Blas();
  Blas(const Blas&) = delete;

  /// The handle, set to work in `scratch`, or in memory of the handle's own where that has no buffer.
  /// A capture in progress keeps either.
  cublas::Handle workingIn(const Scratch& scratch, Stream& stream);

 private:
  Device& device_;
  cublas::Handle handle_ = nullptr;
  std::shared_ptr<DirectMemory> own_;
};

}  // namespace mercer
