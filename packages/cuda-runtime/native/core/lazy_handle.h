// A library's handle, made on first use by whichever thread comes first.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

namespace mercer {

class Stream;

template <typename T>
class LazyHandle {
 public:
  bool made() {
    std::lock_guard lock(mutex_);
    return handle_ != nullptr;
  }

  /// Waits while another thread makes it.
  T& of(Stream& stream) {
    std::lock_guard lock(mutex_);
    if (!handle_) handle_ = std::make_shared<T>(stream);
    return *handle_;
  }

  std::shared_ptr<T> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(handle_, nullptr);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<T> handle_;
};

}  // namespace mercer
