// The kernels for arm64.
#if defined(__aarch64__)
#define MERCER_LEVEL arm64
#define MERCER_LEVEL_NAME "arm64"
#include "../level.h"
#endif
