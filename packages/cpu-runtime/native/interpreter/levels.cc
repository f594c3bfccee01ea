// Which level runs a program, and how the pool enters it.
#include <cstring>

#include "program-value.h"

namespace mercer::cpu::interpreter {

#if defined(__x86_64__)
extern const Level kLevel_x86_64_v2, kLevel_x86_64_v3, kLevel_x86_64_v4;
static const Level* const kLevels[] = {&kLevel_x86_64_v2, &kLevel_x86_64_v3, &kLevel_x86_64_v4};
#elif defined(__wasm__)
extern const Level kLevel_wasm128;
static const Level* const kLevels[] = {&kLevel_wasm128};
#else
extern const Level kLevel_arm64;
static const Level* const kLevels[] = {&kLevel_arm64};
#endif

const Level* levelOf(const char* name) {
  for (const Level* level : kLevels)
    if (std::strcmp(level->name, name) == 0) return level;
  return nullptr;
}

void runProgram(const void* packed, int64_t begin, int64_t end, void* scratch) {
  const auto& header = *static_cast<const LaunchHeader*>(packed);
  const void* args = &header + 1;
  header.level->run(*header.view, args, header.block, begin, end, scratch);
}

}  // namespace mercer::cpu::interpreter
