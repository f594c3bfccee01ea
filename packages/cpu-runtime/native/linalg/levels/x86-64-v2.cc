// Tile kernels for x86-64-v2: 16 registers of 16 bytes.
#if defined(__x86_64__)
#define MERCER_TILE_LEVEL x86_64_v2
#define MERCER_TILE_NAME "x86-64-v2"
#define MERCER_TILE_BYTES 16
#define MERCER_TILE_COLUMNS 4
#include "tile-level.h"
#endif
