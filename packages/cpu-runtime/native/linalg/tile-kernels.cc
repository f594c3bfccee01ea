#include "tile-kernels.h"

#include <cstring>

#include "../cpu-info.h"

namespace mercer::cpu {

#if defined(__x86_64__)
extern const TileLevel kTiles_x86_64_v2, kTiles_x86_64_v3, kTiles_x86_64_v4;
static const TileLevel* const kLevels[] = {&kTiles_x86_64_v4, &kTiles_x86_64_v3, &kTiles_x86_64_v2};
#elif defined(__wasm__)
extern const TileLevel kTiles_wasm128;
static const TileLevel* const kLevels[] = {&kTiles_wasm128};
#else
extern const TileLevel kTiles_arm64;
static const TileLevel* const kLevels[] = {&kTiles_arm64};
#endif

namespace {

// The last is for processors below every level: it has no instruction that they lack.
const TileLevel& tileLevel() {
  static const TileLevel* const level = [] {
    const char* const name = cpuInfo().level;
    const TileLevel* found = nullptr;
    for (const TileLevel* one : kLevels) {
      found = one;
      if (std::strcmp(one->name, name) == 0) break;
    }
    return found;
  }();
  return *level;
}

}  // namespace

template <>
const TileKernels<float>& tileKernels<float>() {
  return tileLevel().single;
}
template <>
const TileKernels<double>& tileKernels<double>() {
  return tileLevel().wide;
}

}  // namespace mercer::cpu
