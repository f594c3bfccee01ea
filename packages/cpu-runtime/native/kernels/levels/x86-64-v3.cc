// The kernels for x86-64-v3.
#if defined(__x86_64__)
#define MERCER_LEVEL x86_64_v3
#define MERCER_LEVEL_NAME "x86-64-v3"
#include "../level.h"
#endif
