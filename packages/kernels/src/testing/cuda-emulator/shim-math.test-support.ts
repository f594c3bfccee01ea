const unary = (names: string, dtype: string, suffix: string): string =>
  names
    .split(' ')
    .map((name) => `EMU_CALL(${dtype}, ${name}${suffix}, (${dtype} x), (x))`)
    .join('\n');
const binary = (names: string, dtype: string, suffix: string): string =>
  names
    .split(' ')
    .map((name) => `EMU_CALL(${dtype}, ${name}${suffix}, (${dtype} x, ${dtype} y), (x, y))`)
    .join('\n');

const UNARY =
  'sqrt fabs rint floor ceil trunc round exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh cbrt erf erfc lgamma tgamma';
const BINARY = 'fmin fmax pow atan2 fmod copysign hypot';

/** Arithmetic of CUDA C++ by the compiler's own functions. */
export const SHIM_MATH = String.raw`
#define EMU_CALL(T, name, params, args) static inline T name params { return __builtin_##name args; }
${unary(UNARY, 'float', 'f')}
${unary(UNARY, 'double', '')}
${binary(BINARY, 'float', 'f')}
${binary(BINARY, 'double', '')}
EMU_CALL(float, fmaf, (float x, float y, float z), (x, y, z))
EMU_CALL(double, fma, (double x, double y, double z), (x, y, z))
EMU_CALL(float, ldexpf, (float x, int n), (x, n))
EMU_CALL(double, ldexp, (double x, int n), (x, n))
static inline float fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline float sqrt(float x) { return sqrtf(x); }
static inline float fabs(float x) { return fabsf(x); }
static inline void sincos(double x, double* s, double* c) { *s = sin(x); *c = cos(x); }
static inline float rsqrtf(float x) { return (float)(1.0 / __builtin_sqrt((double)x)); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline float fdividef(float x, float y) { return x / y; }
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __expf(float x) { return expf(x); }
static inline float __exp2f(float x) { return exp2f(x); }
static inline float __logf(float x) { return logf(x); }
static inline float __log2f(float x) { return log2f(x); }
static inline float __powf(float x, float y) { return powf(x, y); }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline double __dsqrt_rn(double x) { return sqrt(x); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline double __drcp_rn(double x) { return 1.0 / x; }
static inline float __frsqrt_rn(float x) { return rsqrtf(x); }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
// never fused with what is around them
#define EMU_ROUNDED(T, name, op) __attribute__((optimize("fp-contract=off"), noinline)) static T name(T x, T y) { return x op y; }
EMU_ROUNDED(float, __fadd_rn, +)
EMU_ROUNDED(float, __fsub_rn, -)
EMU_ROUNDED(float, __fmul_rn, *)
EMU_ROUNDED(float, __fdiv_rn, /)
EMU_ROUNDED(double, __dadd_rn, +)
EMU_ROUNDED(double, __dsub_rn, -)
EMU_ROUNDED(double, __dmul_rn, *)
EMU_ROUNDED(double, __ddiv_rn, /)
static inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
template <class T> static inline bool isnan(T x) { return x != x; }
template <class T> static inline bool isinf(T x) { return __builtin_isinf(x); }
template <class T> static inline bool isfinite(T x) { return __builtin_isfinite(x); }
template <class T> static inline bool signbit(T x) { return __builtin_signbit(x); }
template <class To, class From> static inline To emu_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  __builtin_memcpy(&to, &from, sizeof(To));
  return to;
}
static inline int __float_as_int(float x) { return emu_bits<int>(x); }
static inline unsigned __float_as_uint(float x) { return emu_bits<unsigned>(x); }
static inline float __int_as_float(int x) { return emu_bits<float>(x); }
static inline float __uint_as_float(unsigned x) { return emu_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emu_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emu_bits<double>(x); }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int high, int low) { return emu_bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low); }
static inline int __float2int_rn(float x) { return (int)rintf(x); }
static inline int __double2int_rn(double x) { return (int)rint(x); }
static inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __mulhi(int x, int y) { return (int)((long long)x * y >> 32); }
static inline unsigned __umulhi(unsigned x, unsigned y) { return (unsigned)((unsigned long long)x * y >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned long long)((unsigned __int128)x * y >> 64); }
static inline int abs(int x) { return x < 0 ? -x : x; }
static inline long long llabs(long long x) { return x < 0 ? -x : x; }
#define EMU_LESSER(T) static inline T min(T x, T y) { return y < x ? y : x; } static inline T max(T x, T y) { return x < y ? y : x; }
EMU_LESSER(int) EMU_LESSER(unsigned) EMU_LESSER(long) EMU_LESSER(unsigned long) EMU_LESSER(long long) EMU_LESSER(unsigned long long)
static inline unsigned min(unsigned x, int y) { return min(x, (unsigned)y); }
static inline unsigned min(int x, unsigned y) { return min((unsigned)x, y); }
static inline unsigned max(unsigned x, int y) { return max(x, (unsigned)y); }
static inline unsigned max(int x, unsigned y) { return max((unsigned)x, y); }
static inline float min(float x, float y) { return fminf(x, y); }
static inline float max(float x, float y) { return fmaxf(x, y); }
static inline double min(double x, double y) { return fmin(x, y); }
static inline double max(double x, double y) { return fmax(x, y); }
`;
