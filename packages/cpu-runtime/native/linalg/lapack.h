// A BLAS with LAPACK, found at run time: its routines, the width of its integers, its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <shared_mutex>
#include <string>

namespace mercer::cpu {

using Int = int64_t;

template <class T>
struct LapackFunctions {
#define MERCER_LAPACK(name, parameters) void(*name) parameters = nullptr;
#include "lapack-symbols.inc"
#undef MERCER_LAPACK
};

// One library for the process, never closed: its threads outlive any environment.
class Lapack {
 public:
  // Opens `path` unless a library is open already; says why not in `error`.
  static bool open(const std::string& path, std::string& error);
  // The open library; null before.
  static const Lapack* get();

  const std::string& path() const { return path_; }
  const std::string& vendor() const { return vendor_; }
  int integerBits() const { return ilp64_ ? 64 : 32; }

  template <class T>
  const LapackFunctions<T>& functions() const;

  // An integer that a routine wrote.
  Int written(Int raw) const { return ilp64_ ? raw : static_cast<int32_t>(raw); }

 private:
  friend class LapackThreads;
  bool resolve(void* handle, std::string& error);
  void findThreadControl(void* handle);
  void setThreads(int threads) const;

  std::string path_, vendor_;
  bool ilp64_ = false;
  LapackFunctions<float> single_;
  LapackFunctions<double> double_;
  void (*setThreads32_)(int) = nullptr;
  void (*setThreads64_)(int64_t) = nullptr;
};

// Held around calls of the library. Elements of a batch run side by side on the pool, each on one thread; a single large
// element has the library to itself, with as many threads as the pool has.
class LapackThreads {
 public:
  explicit LapackThreads(bool alone);
  ~LapackThreads();
  LapackThreads(const LapackThreads&) = delete;
  LapackThreads& operator=(const LapackThreads&) = delete;

 private:
  bool alone_;
};

}  // namespace mercer::cpu
