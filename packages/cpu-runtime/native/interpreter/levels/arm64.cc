// The interpreter for arm64.
#if defined(__aarch64__)
#define MERCER_LEVEL arm64
#define MERCER_LEVEL_NAME "arm64"
#define MERCER_WIDE_TEXT "generated/arm64-wide.h"
#define MERCER_FLOAT32_TEXT "generated/arm64-float32.h"
#define MERCER_FLOAT64_TEXT "generated/arm64-float64.h"
#include "../level.h"
#endif
