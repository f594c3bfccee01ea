// Tile kernels for x86-64-v4: 32 registers of 64 bytes.
#if defined(__x86_64__)
#define MERCER_TILE_LEVEL x86_64_v4
#define MERCER_TILE_NAME "x86-64-v4"
#define MERCER_TILE_BYTES 64
#define MERCER_TILE_COLUMNS 8
#include "tile-level.h"
#endif
