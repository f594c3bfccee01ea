// A LAPACK found at run time: its routines, and the width of its integers. It never computes on threads of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mercer::cpu {

using Int = int64_t;

template <class T>
struct LapackFunctions {
#define MERCER_LAPACK(name, parameters) void(*name) parameters = nullptr;
#include "lapack-symbols.inc"
#undef MERCER_LAPACK
};

// One library for the process, never closed.
class Lapack {
 public:
  // Opens `path` unless a library is open already; says why not in `error`.
  static bool open(const std::string& path, std::string& error);
  // The open library; null before.
  static const Lapack* get();

  const std::string& path() const { return path_; }
  const std::string& vendor() const { return vendor_; }
  int integerBits() const { return ilp64_ ? 64 : 32; }

  // For the calling thread.
  template <class T>
  const LapackFunctions<T>& functions() const;

  // An integer that a routine wrote.
  Int written(Int raw) const { return ilp64_ ? raw : static_cast<int32_t>(raw); }

 private:
  bool resolve(void* handle, std::string& error);
  void findVendor(void* handle);
  void onOneThread() const;

  std::string path_, vendor_;
  bool ilp64_ = false;
  LapackFunctions<float> single_;
  LapackFunctions<double> double_;
  void (*setThreadsOfBlis_)(int64_t) = nullptr;
  void (*setThreadsOfOpenMP_)(int) = nullptr;
};

}  // namespace mercer::cpu
