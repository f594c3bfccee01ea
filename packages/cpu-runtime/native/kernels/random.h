// Random numbers: words of Philox 4x32-10 (Salmon, Moraes, Dror and Shaw, SC 2011), and what numbers are made of them. Products and sums of
// float64 are not fused here: every instruction set and every device has the same bits (docs/adr/0035).

#include "arithmetic.h"
#include "rows.h"

#if defined(__clang__)
#define MERCER_EXACT _Pragma("clang fp contract(off)")
#else
#define MERCER_EXACT
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

// Elements of one task, and those that are made before they are stored.
constexpr int64_t kRandomSpan = 4096, kRandomBatch = 256;

static void philoxBlocks(const RandomArgs& p, int64_t first, int64_t blocks, uint32_t* out) {
  for (int64_t b = 0; b < blocks; b++) {
    const uint64_t n = (uint64_t)(first + b);
    uint32_t c0 = (uint32_t)n, c1 = (uint32_t)(n >> 32), c2 = 0, c3 = 0;
    uint32_t k0 = (uint32_t)p.keyLow, k1 = (uint32_t)p.keyHigh;
    for (int round = 0; round < 10; round++) {
      const uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;
      c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, c1 = (uint32_t)p1;
      c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1, c3 = (uint32_t)p0;
      k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
    }
    out[4 * b] = c0, out[4 * b + 1] = c1, out[4 * b + 2] = c2, out[4 * b + 3] = c3;
  }
}

// 2^-bits
static double powerOfHalf(int64_t bits) {
  const uint64_t word = (uint64_t)(1023 - bits) << 52;
  double x;
  __builtin_memcpy(&x, &word, 8);
  return x;
}

// Rational approximations of Wichura, "Algorithm AS 241: The percentage points of the normal distribution", Applied Statistics 37 (1988):
// PPND16, constant term first, of the numerator and of the denominator.
static const double kCentre[2][8] = {
    {3.387132872796366608, 133.14166789178437745, 1971.5909503065514427, 13731.693765509461125, 45921.953931549871457,
     67265.770927008700853, 33430.575583588128105, 2509.0809287301226727},
    {1, 42.313330701600911252, 687.1870074920579083, 5394.1960214247511077, 21213.794301586595867, 39307.89580009271061,
     28729.085735721942674, 5226.495278852854561}};
static const double kMiddle[2][8] = {
    {1.42343711074968357734, 4.6303378461565452959, 5.7694972214606914055, 3.64784832476320460504, 1.27045825245236838258,
     0.24178072517745061177, 0.0227238449892691845833, 7.7454501427834140764e-4},
    {1, 2.05319162663775882187, 1.6763848301838038494, 0.68976733498510000455, 0.14810397642748007459,
     0.0151986665636164571966, 5.475938084995344946e-4, 1.05075007164441684324e-9}};
static const double kTail[2][8] = {
    {6.6579046435011037772, 5.4637849111641143699, 1.7848265399172913358, 0.29656057182850489123, 0.026532189526576123093,
     0.0012426609473880784386, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
    {1, 0.59983220655588793769, 0.13692988092273580531, 0.0148753612908506148525, 7.868691311456132591e-4,
     1.8463183175100546818e-5, 1.4215117583164458887e-7, 2.04426310338993978564e-15}};

static double ratio(double x, const double (&of)[2][8]) {
  MERCER_EXACT
  double above = of[0][7], below = of[1][7];
  for (int k = 6; k >= 0; k--) above = above * x + of[0][k], below = below * x + of[1][k];
  return above / below;
}

// -log(x) of a normal number below 1: x is m 2^e with m from 1/sqrt(2) on, and log m = 2 artanh((m - 1) / (m + 1)).
static double minusLog(double x) {
  MERCER_EXACT
  uint64_t word;
  __builtin_memcpy(&word, &x, 8);
  int64_t exponent = (int64_t)(word >> 52) - 1022;
  word = (word & 0xfffffffffffffu) | ((uint64_t)1022 << 52);
  double m;
  __builtin_memcpy(&m, &word, 8);
  if (m < 0.7071067811865476) m *= 2, exponent -= 1;
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 11; k >= 0; k--) sum = sum * square + 1.0 / (2 * k + 1);
  return -((double)exponent * 0.6931471805599453 + 2 * s * sum);
}

// How far the median of the standard normal distribution is from the point beyond which the share `tail`, below 1/2, lies.
static double normalQuantile(double tail) {
  MERCER_EXACT
  const double q = 0.5 - tail;
  if (q <= 0.425) return q * ratio(0.180625 - q * q, kCentre);
  const double r = __builtin_sqrt(minusLog(tail));
  return r <= 5 ? ratio(r - 1.6, kMiddle) : ratio(r - 5, kTail);
}

// shift + scale u, where u has the upper bits of one word, or of two.
static void uniformNumbers(const RandomArgs& p, int64_t count, const uint32_t* words, double* numbers) {
  MERCER_EXACT
  const double unit = powerOfHalf(p.bits);
  if (p.bits == 53) {
    for (int64_t i = 0; i < count; i++) {
      const int64_t high = words[2 * i] >> 5, low = words[2 * i + 1] >> 6;
      const double scaled = p.scale * ((double)(high << 26 | low) * unit);
      numbers[i] = p.shift + scaled;
    }
    return;
  }
  const int drop = (int)(32 - p.bits);
  for (int64_t i = 0; i < count; i++) {
    const double scaled = p.scale * ((double)(int64_t)(words[i] >> drop) * unit);
    numbers[i] = p.shift + scaled;
  }
}

// shift + scale z: the highest bit is z's sign, and the others say which share of the half lies beyond z.
static void normalNumbers(const RandomArgs& p, int64_t count, const uint32_t* words, double* numbers) {
  MERCER_EXACT
  const bool wide = p.bits == 53;
  const double unit = powerOfHalf(p.bits + 1);
  for (int64_t i = 0; i < count; i++) {
    const uint32_t word = words[wide ? 2 * i : i];
    const int64_t upper = word & 0x7fffffffu;
    const int64_t k = wide ? upper << 21 | words[2 * i + 1] >> 11 : upper;
    const double z = normalQuantile((double)(2 * k + 1) * unit);
    const double scaled = p.scale * (word >> 31 == 0 ? z : -z);
    numbers[i] = p.shift + scaled;
  }
}

static void randomNumbers(const void* args, int64_t begin, int64_t end, void*) {
  const RandomArgs& p = *(const RandomArgs*)args;
  const RowFn store = ROWS[0][p.type];
  const int64_t bytes = kElementBytes[p.type], wordsOfOne = p.bits == 53 ? 2 : 1;
  const int64_t last = end * kRandomSpan < p.count ? end * kRandomSpan : p.count;
  uint32_t words[2 * kRandomBatch];
  double numbers[kRandomBatch];
  for (int64_t first = begin * kRandomSpan; first < last; first += kRandomBatch) {
    const int64_t count = last - first < kRandomBatch ? last - first : kRandomBatch;
    philoxBlocks(p, first * wordsOfOne / 4, (count * wordsOfOne + 3) / 4, words);
    if (p.normal != 0)
      normalNumbers(p, count, words, numbers);
    else
      uniformNumbers(p, count, words, numbers);
    store((uint8_t*)p.out + first * bytes, 1, numbers, 1, count);
  }
}

#if !defined(__clang__)
#pragma GCC pop_options
#endif
