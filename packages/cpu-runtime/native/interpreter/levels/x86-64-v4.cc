// The interpreter for x86-64-v4.
#if defined(__x86_64__)
#define MERCER_LEVEL x86_64_v4
#define MERCER_LEVEL_NAME "x86-64-v4"
#define MERCER_WIDE_TEXT "generated/x86-64-v4-wide.h"
#define MERCER_FLOAT32_TEXT "generated/x86-64-v4-float32.h"
#define MERCER_FLOAT64_TEXT "generated/x86-64-v4-float64.h"
#include "../level.h"
#endif
