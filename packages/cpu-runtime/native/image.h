// A compiled kernel in memory: checked, written to a sealed memfd, opened by the dynamic loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernel-fn.h"

namespace mercer::cpu {

class Image {
 public:
  // `guard` refuses an image whose constructors change the floating-point control word.
  static std::shared_ptr<Image> load(const uint8_t* bytes, size_t size, bool guard);

  ~Image();
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;

  KernelFn find(const std::string& entry) const;

 private:
  explicit Image(void* handle) : handle_(handle) {}
  void* handle_;
};

}  // namespace mercer::cpu
