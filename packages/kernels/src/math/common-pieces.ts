import { hornerText as horner, type PieceTable } from './pieces.js';
import { ASIN, ATAN, COS, ERF, ERFC, EXPM1, LGAMMA, LOG, SIN, STIRLING } from './polynomials.js';

// One text for both dialects, in double precision. `Wide` is a double or a vector of doubles, `Bits` whole
// numbers of 64 bits as many, `Mask` what a comparison of Wides gives; conditions join with & and |, and
// choose with ?:, which vectors and scalars have both. Float32 computes in `Wide` too and rounds once.

/** Parts in the text that both dialects share. */
export const COMMON_PIECES: PieceTable = {
  bits: {
    needs: [],
    text: `MATH_SMALL Wide size_of(Wide x) { return wide_of(bits_of(x) & 0x7fffffffffffffffll); }
MATH_SMALL Wide with_sign(Wide size, Wide from) {
  return wide_of((bits_of(size) & 0x7fffffffffffffffll) | (bits_of(from) & (long long)0x8000000000000000ull));
}`,
  },
  whole: {
    needs: ['bits'],
    text: `// nearest whole number, ties to even
MATH_SMALL Wide nearest(Wide x) {
  const Wide size = size_of(x);
  return size < 4503599627370496.0 ? with_sign((size + 4503599627370496.0) - 4503599627370496.0, x) : x;
}`,
  },
  scale: {
    needs: [],
    text: `// the same for |x| < 2^51, in two additions
MATH_SMALL Wide nearest_small(Wide x) { return (x + 6755399441055744.0) - 6755399441055744.0; }
MATH_SMALL Wide power_of_2(Wide n) { return wide_of(bits_of(n + 6755399441056767.0) << 52); }
// y 2^n for whole n, |n| < 2000, rounded once
MATH_SMALL Wide scale_by(Wide y, Wide n) {
  const Wide half = nearest_small(n * 0.5);
  return y * power_of_2(half) * power_of_2(n - half);
}
// e^r - 1 for |r| <= ln(2) / 2
MATH_SMALL Wide expm1_reduced(Wide r) { return r + (r * r) * ${horner(EXPM1, 'r')}; }`,
  },
  exp: {
    needs: ['scale'],
    text: `// e^(x + low)
MATH_BIG Wide exp_wide(Wide x, Wide low) {
  const Wide c = x > 1000.0 ? wide(1000.0) : x < -1000.0 ? wide(-1000.0) : x;
  const Wide n = nearest_small(c * 1.4426950408889634);
  const Wide r = ((c - n * 0.6931471803691238) - n * 1.9082149292705877e-10) + low;
  const Wide y = scale_by(1.0 + expm1_reduced(r), n);
  return x == x ? y : x;
}`,
  },
  expm1: {
    needs: ['bits', 'scale'],
    text: `MATH_BIG Wide expm1_wide(Wide x) {
  const Wide c = x > 710.0 ? wide(710.0) : x < -60.0 ? wide(-60.0) : x;
  const Wide n = nearest_small(c * 1.4426950408889634);
  const Wide r = (c - n * 0.6931471803691238) - n * 1.9082149292705877e-10;
  const Wide e = expm1_reduced(r), half = power_of_2(n - 1.0);
  const Wide y = n == 0.0 ? e : ((half - 0.5) + half * e) * 2.0;
  return x == x ? with_sign(y, x) : x;
}`,
  },
  logParts: {
    needs: [],
    text: `// x = 2^e (1 + f), 1 + f between sqrt(1/2) and sqrt(2), for finite x > 0
MATH_SMALL Wide split_exponent(Wide x, Wide& e) {
  const Mask tiny = x < 2.2250738585072014e-308;
  const Bits b = bits_of(tiny ? x * 18014398509481984.0 : x);
  const Bits shift = (b + 0x00095f619980c433ll) >> 52;
  const Wide biased = wide_of(shift | 0x4330000000000000ll);
  e = tiny ? biased - 4503599627371573.0 : biased - 4503599627371519.0;
  return wide_of(b - ((shift - 1023) << 52)) - 1.0;
}
// e ln(2) + log(1 + f) + c
MATH_SMALL Wide log_joined(Wide e, Wide f, Wide c) {
  const Wide s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  const Wide rest = s * (half + z * ${horner(LOG, 'z')});
  return e * 0.6931471803691238 - ((half - (rest + (e * 1.9082149292705877e-10 + c))) - f);
}
// what the logarithm of x is where it is not finite
MATH_SMALL Wide log_ends(Wide x, Wide y) {
  const Wide low = x < 0.0 ? wide(WIDE_NAN) : wide(-WIDE_INFINITY);
  return x > 0.0 ? (x < WIDE_INFINITY ? y : x) : x == x ? low : x;
}`,
  },
  log: {
    needs: ['logParts'],
    text: `MATH_BIG Wide log_wide(Wide x) {
  Wide e;
  const Wide f = split_exponent(x, e);
  return log_ends(x, log_joined(e, f, wide(0.0)));
}`,
  },
  log1p: {
    needs: ['logParts'],
    text: `// log(1 + x): what the sum loses is put back
MATH_BIG Wide log1p_wide(Wide x) {
  const Wide u = 1.0 + x;
  Wide e;
  const Wide m = split_exponent(u, e);
  const Mask near = e == 0.0;
  const Wide lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
  const Wide y = log_joined(e, near ? x : m, near ? wide(0.0) : lost / u);
  return log_ends(u, y);
}`,
  },
  angleKernels: {
    needs: [],
    text: `// sin and cos of r + low, |r| <= pi / 4
MATH_SMALL Wide sin_kernel(Wide r, Wide low) {
  const Wide z = r * r;
  return r + ((r * z) * ${horner(SIN, 'z')} + low * (1.0 - 0.5 * z));
}
MATH_SMALL Wide cos_kernel(Wide r, Wide low) {
  const Wide z = r * r, h = 0.5 * z, w = 1.0 - h;
  return w + (((1.0 - w) - h) + ((z * z) * ${horner(COS, 'z')} - r * low));
}`,
  },
  // A dialect reduces angles in its own way: these two are the part that they share.
  angle: { needs: [], text: '' },
  sinCos: {
    needs: ['angleKernels', 'angle'],
    text: `MATH_BIG void sin_cos(Wide x, Wide& s, Wide& c) {
  Wide low;
  Bits quadrant;
  const Wide r = reduce_angle(x, low, quadrant);
  const Wide sine = sin_kernel(r, low), cosine = cos_kernel(r, low);
  const Mask odd = (quadrant & 1) != 0;
  s = wide_of(bits_of(odd ? cosine : sine) ^ ((quadrant & 2) << 62));
  c = wide_of(bits_of(odd ? sine : cosine) ^ (((quadrant + 1) & 2) << 62));
}`,
  },
  sinPi: {
    needs: ['angleKernels'],
    text: `// sin(pi g) and cos(pi g) for 0 <= g <= 1/2
MATH_SMALL void sin_cos_pi(Wide g, Wide& s, Wide& c) {
  const Mask swap = g > 0.25;
  const Wide r = (swap ? 0.5 - g : g) * 3.141592653589793;
  const Wide sine = sin_kernel(r, wide(0.0)), cosine = cos_kernel(r, wide(0.0));
  s = swap ? cosine : sine;
  c = swap ? sine : cosine;
}`,
  },
  asinKernel: {
    needs: ['bits'],
    text: `// asin(t) = t + (what is added) for |t| <= 1/2; t and z = t^2 from |x| or its half angle
MATH_SMALL Wide asin_reduced(Wide size, Wide& t) {
  const Wide z = size <= 0.5 ? size * size : (1.0 - size) * 0.5;
  t = size <= 0.5 ? size : wide_sqrt(z);
  return (t * z) * ${horner(ASIN, 'z')};
}`,
  },
  atanKernel: {
    needs: [],
    text: `// atan(num / den) for num, den >= 0
MATH_SMALL Wide atan_positive(Wide num, Wide den) {
  const Mask big = num > 2.414213562373095 * den, middle = num > 0.41421356237309503 * den;
  const Wide top = big ? -den : middle ? num - den : num;
  const Wide bottom = big ? num : middle ? num + den : den;
  const Wide t = top / bottom, z = t * t;
  const Wide base = big ? wide(1.5707963267948966) : middle ? wide(0.7853981633974483) : wide(0.0);
  const Wide low = big ? wide(6.123233995736766e-17) : middle ? wide(3.061616997868383e-17) : wide(0.0);
  return base + (((t * z) * ${horner(ATAN, 'z')} + low) + t);
}`,
  },
  erfKernel: {
    needs: [],
    text: `// erf(x) for |x| <= 1
MATH_SMALL Wide erf_near(Wide x) {
  const Wide z = x * x;
  return x + x * ${horner(ERF, 'z')};
}`,
  },
  erfcKernel: {
    needs: ['exp'],
    text: `// erfc(size) for size >= 1/2: the square is split so that its exponential keeps its digits
MATH_SMALL Wide erfc_far(Wide size) {
  const Wide a = size > 28.0 ? wide(28.0) : size;
  const Wide t = (a - 3.75) / (a + 3.75);
  const Wide head = wide_of(bits_of(a) & (long long)0xfffffffff8000000ull);
  const Wide e = exp_wide(-(head * head), -((a - head) * (a + head)));
  return e * (${horner(ERFC, 't')} / (1.0 + 2.0 * a));
}`,
  },
  lgammaPositive: {
    needs: ['log', 'log1p'],
    text: `// log Gamma(x) for x > 0: around 2, moved there by x Gamma(x) = Gamma(x + 1), or Stirling's series
MATH_BIG Wide lgamma_positive(Wide x) {
  const Mask first = x < 0.5, second = x < 1.5, far = x >= 8.0;
  Wide y = x, product = wide(1.0);
  for (int k = 0; k < 6; k++) {
    const Mask down = (y >= 2.5) & (x < 8.0);
    y = down ? y - 1.0 : y;
    product = down ? product * y : product;
  }
  const Wide z = first ? x : second ? x - 1.0 : far ? wide(0.0) : y - 2.0;
  const Wide near = z * 0.42278433509846713 + (z * z) * ${horner(LGAMMA, 'z')};
  const Wide moved = near - log1p_wide(second ? z : wide(0.0));
  const Wide l = log_wide((first | far) ? x : product);
  const Wide w = 1.0 / x, w2 = w * w;
  const Wide stirling = (x - 0.5) * (l - 1.0) + (0.41893853320467274 + w * ${horner(STIRLING, 'w2')});
  return far ? stirling : first ? moved - l : second ? moved : near + l;
}`,
  },
};
