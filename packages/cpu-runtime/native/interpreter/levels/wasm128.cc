// The interpreter for 128-bit WebAssembly SIMD.
#if defined(__wasm__)
#define MERCER_LEVEL wasm128
#define MERCER_LEVEL_NAME "wasm128"
#define MERCER_WIDE_TEXT "generated/wasm128-wide.h"
#define MERCER_FLOAT32_TEXT "generated/wasm128-float32.h"
#define MERCER_FLOAT64_TEXT "generated/wasm128-float64.h"
#include "../level.h"
#endif
