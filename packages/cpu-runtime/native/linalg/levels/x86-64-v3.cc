// Tile kernels for x86-64-v3: 16 registers of 32 bytes.
#if defined(__x86_64__)
#define MERCER_TILE_LEVEL x86_64_v3
#define MERCER_TILE_NAME "x86-64-v3"
#define MERCER_TILE_BYTES 32
#define MERCER_TILE_COLUMNS 4
#include "tile-level.h"
#endif
