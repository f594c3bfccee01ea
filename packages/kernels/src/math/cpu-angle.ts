import type { PieceText } from './pieces.js';

/** 2 / pi in binary, 64 bits a word, after a word of zeros. */
const TWO_OVER_PI = [
  ...['0', '0xa2f9836e4e441529', '0xfc2757d1f534ddc0', '0xdb6295993c439041'],
  ...['0xfe5163abdebbc561', '0xb7246e3a424dd2e0', '0x06492eea09d1921c', '0xfe1deb1cb129a73e'],
  ...['0xe88235f52ebb4484', '0xe99c7026b45f7e41', '0x3991d639835339f4', '0x9c845f8bbdf9283b'],
  ...['0x1ff897ffde05980f', '0xef2f118b5a0a6d1f', '0x6d367ecf27cb09b7', '0x4f463f669e5fea2d'],
  ...['0x7527bac7ebe5f17b', '0x3d0739f78a5292ea', '0x6bfb5fb11f8d5d08', '0x56033046fc7b6bab'],
];

/**
 * Angles less multiples of pi / 2, in two parts. Up to a million by pi / 2 in four parts (Cody and Waite),
 * beyond that one value after the other by the bits of 2 / pi that matter (Payne and Hanek).
 */
export const CPU_ANGLE: PieceText = {
  needs: ['scale'],
  text: `static const unsigned long long TWO_OVER_PI[] = {${TWO_OVER_PI.map((word) => `${word}ull`).join(', ')}};
// |x| >= 1: x = quadrant pi / 2 + r + low
static __attribute__((noinline, unused)) double reduce_huge(double x, double& low, long long& quadrant) {
  typedef unsigned long long Word;
  typedef unsigned __int128 Double;
  Word bits;
  __builtin_memcpy(&bits, &x, 8);
  const int exponent = (int)(bits >> 52 & 2047) - 1075, at = exponent + 62;
  const Word mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const Word* from = TWO_OVER_PI + (at >> 6);
  const int shift = at & 63;
  Word window[3];
  for (int n = 0; n < 3; n++) window[n] = shift == 0 ? from[n] : from[n] << shift | from[n + 1] >> (64 - shift);
  // the low 192 bits of the product: two of the quadrant, the rest its fraction
  const Double p2 = (Double)mantissa * window[2], p1 = (Double)mantissa * window[1] + (Word)(p2 >> 64);
  Word high = mantissa * window[0] + (Word)(p1 >> 64), middle = (Word)p1, last = (Word)p2;
  quadrant = (long long)(high >> 62);
  high = high << 2 | middle >> 62;
  middle = middle << 2 | last >> 62;
  last <<= 2;
  const bool up = high >> 63 != 0;
  if (up) {
    quadrant++;
    last = ~last + 1;
    middle = ~middle + (last == 0);
    high = ~high + (last == 0 && middle == 0);
  }
  int lost = 0;
  if (high == 0) {
    high = middle;
    middle = last;
    last = 0;
    lost = 64;
  }
  const int zeros = high == 0 ? 0 : __builtin_clzll(high);
  if (zeros > 0) {
    high = high << zeros | middle >> (64 - zeros);
    middle = middle << zeros | last >> (64 - zeros);
  }
  // times pi / 4, of which the words are the first 128 bits
  const Word c1 = 0xc90fdaa22168c234ull, c0 = 0xc4c6628b80dc1cd1ull;
  const Double r = (Double)high * c1 + (Word)((Double)high * c0 >> 64) + (Word)((Double)middle * c1 >> 64);
  const Word top = (Word)(r >> 64);
  const Word unit_bits = (Word)(1023 + 1 - lost - zeros) << 52;
  double unit;
  __builtin_memcpy(&unit, &unit_bits, 8);
  const double head = (double)(top >> 11) * 1.1102230246251565e-16 * unit;
  const Word tail = top << 53 | (Word)r >> 11;
  low = (double)tail * 6.018531076210112e-36 * unit;
  const bool negative = up != (x < 0);
  if (x < 0) quadrant = -quadrant;
  low = negative ? -low : low;
  return negative ? -head : head;
}
INLINE Wide difference(Wide a, Wide b, Wide& lost) {
  const Wide d = a - b, back = d - a;
  lost = (a - (d - back)) - (b + back);
  return d;
}
INLINE Wide reduce_angle(Wide x, Wide& low, Bits& quadrant) {
  const Wide size = (Wide)((Bits)x & 0x7fffffffffffffffll);
  const Wide n = nearest_small(x * 0.6366197723675814);
  quadrant = (Bits)(n + 6755399441055744.0);
  Wide lost2, lost3;
  const Wide r1 = x - n * 1.5707963267341256;
  const Wide r2 = difference(r1, n * 6.077100506303966e-11, lost2);
  const Wide r3 = difference(r2, n * 2.0222662487111665e-21, lost3);
  const Wide rest = (lost2 + lost3) - n * 8.4784276603689e-32;
  Wide r = r3 + rest;
  low = (r3 - r) + rest;
  const Bits huge = size > 1e6;
  long long any_huge = 0;
  for (int lane = 0; lane < WIDE_LANES; lane++) any_huge |= huge[lane];
  if (any_huge != 0) {
    for (int lane = 0; lane < WIDE_LANES; lane++) {
      if (!(size[lane] > 1e6)) continue;
      double low_lane = 0;
      long long quadrant_lane = 0;
      r[lane] = size[lane] < WIDE_INFINITY ? reduce_huge(x[lane], low_lane, quadrant_lane) : WIDE_NAN;
      low[lane] = low_lane;
      quadrant[lane] = quadrant_lane;
    }
  }
  return r;
}`,
};
