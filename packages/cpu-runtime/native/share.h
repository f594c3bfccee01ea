// How a running kernel shares its work with idle threads: of the pool, or nobody where there is one thread (native/wasm).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "kernel-fn.h"

namespace mercer::cpu {

// Threads that may take part, at least 1.
size_t sharingThreads();

// Runs `kernel(&context, i, i + 1, scratch)` for every i below `tasks`; see Pool::share.
void share(KernelFn kernel, const void* context, int64_t tasks, size_t scratchBytes, void* scratch);

}  // namespace mercer::cpu
