// The kernels for x86-64-v4.
#if defined(__x86_64__)
#define MERCER_LEVEL x86_64_v4
#define MERCER_LEVEL_NAME "x86-64-v4"
#include "../level.h"
#endif
