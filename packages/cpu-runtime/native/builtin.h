// What a built-in function is: a kernel without text. Streams launch it as they launch compiled kernels.
#pragma once

#include <cstddef>
#include <string>

#include "image.h"

namespace mercer::cpu {

struct Builtin {
  const char* name;
  KernelFn run;
  size_t (*scratchBytes)(const void* args);  // of each thread that takes part
  size_t argBytes;
  bool needsLapack;
};

// Null where there is none of this name. `level` is the instruction set, such as x86-64-v3, of kernels that are built for each.
const Builtin* findBuiltin(const std::string& name, const std::string& level);

// Those of linalg/ and of kernels/.
const Builtin* findRoutine(const std::string& name);
const Builtin* findKernel(const std::string& name, const std::string& level);

}  // namespace mercer::cpu
