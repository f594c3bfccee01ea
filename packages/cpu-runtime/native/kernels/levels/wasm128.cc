// The kernels for 128-bit WebAssembly SIMD.
#if defined(__wasm__)
#define MERCER_LEVEL wasm128
#define MERCER_LEVEL_NAME "wasm128"
#include "../level.h"
#endif
