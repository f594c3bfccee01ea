// Tile kernels for 128-bit WebAssembly SIMD: engines map it to 16 registers of 16 bytes on x86-64.
#if defined(__wasm__)
#define MERCER_TILE_LEVEL wasm128
#define MERCER_TILE_NAME "wasm128"
#define MERCER_TILE_BYTES 16
#define MERCER_TILE_COLUMNS 4
#include "tile-level.h"
#endif
