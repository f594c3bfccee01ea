// What cuBLASLt needs to know of a product beside its addresses, and the algorithm that it chose.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>

#include "cublaslt.h"
#include "matmul.h"

namespace mercer {

/// Addresses of a product's operands.
struct ProductMemory {
  const void *a, *b, *c;
  void* d;
};

class ProductPlan {
 public:
  /// Asks the library for its best algorithm that fits `workspaceBytes` and the operands' alignment.
  ProductPlan(Stream& stream, cublaslt::Handle handle, const Product& product,
              const std::array<uint32_t, 4>& alignment, uint64_t workspaceBytes);
  ~ProductPlan();
  ProductPlan(const ProductPlan&) = delete;

  void enqueue(Stream& stream, cublaslt::Handle handle, const Product& product, const ProductMemory& memory,
               void* workspace, uint64_t workspaceBytes) const;

 private:
  void release() noexcept;
  void choose(Stream& stream, cublaslt::Handle handle, const std::array<uint32_t, 4>& alignment,
              uint64_t workspaceBytes);

  cublaslt::MatmulDesc desc_ = nullptr;
  cublaslt::MatrixLayout layouts_[4] = {};  // of a, b, c, d
  cublaslt::Algorithm algorithm_{};
};

/// The handle of one device and the plans made with it. Lives as long as the process.
class ProductPlans {
 public:
  static ProductPlans& of(Device& device);

  cublaslt::Handle handle(Stream& stream);
  std::shared_ptr<const ProductPlan> find(Stream& stream, const Product& product, const ProductMemory& memory,
                                          uint64_t workspaceBytes);

 private:
  using Key = std::array<int64_t, 22>;

  std::mutex handleMutex_, mutex_;
  cublaslt::Handle handle_ = nullptr;
  std::map<Key, std::shared_ptr<const ProductPlan>> plans_;
};

}  // namespace mercer
