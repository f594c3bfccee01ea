// What the pool runs: tasks `begin` to `end` of a launch, with scratch memory of the thread's own.
#pragma once

#include <stdint.h>

namespace mercer::cpu {

using KernelFn = void (*)(const void* args, int64_t begin, int64_t end, void* scratch);

}  // namespace mercer::cpu
