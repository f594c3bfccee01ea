// Tile kernels for arm64: 32 registers of 16 bytes.
#if defined(__aarch64__)
#define MERCER_TILE_LEVEL arm64
#define MERCER_TILE_NAME "arm64"
#define MERCER_TILE_BYTES 16
#define MERCER_TILE_COLUMNS 8
#include "tile-level.h"
#endif
