// The kernels for x86-64-v2.
#if defined(__x86_64__)
#define MERCER_LEVEL x86_64_v2
#define MERCER_LEVEL_NAME "x86-64-v2"
#include "../level.h"
#endif
