// The one exception type of core. Bindings turn it into a JavaScript error.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace mercer {

enum class FailureKind { Cuda, Nvrtc, OutOfMemory, Misuse, Cusolver, Cublas, Nccl };

struct Failure {
  FailureKind kind = FailureKind::Misuse;
  int code = 0;        // CUresult, nvrtcResult or a status
  std::string name;    // CUDA_ERROR_..., CUSOLVER_STATUS_..., or the code of a misuse
  std::string call;    // the function of the library
  std::string what;    // a sentence
  std::string log;     // compiler log
  std::string source;  // what was compiled
  uint64_t requested = 0, free = 0, live = 0;
  int device = -1;
};

[[noreturn]] inline void misuse(const char* code, std::string what) {
  Failure failure;
  failure.name = code;
  failure.what = std::move(what);
  throw failure;
}

}  // namespace mercer
