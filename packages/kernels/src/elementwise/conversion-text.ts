import { elementInfo, isRaw, type ElementType, type WorkingType } from './element-type.js';

export type Dialect = 'cuda' | 'cpu';

const TYPES = `typedef unsigned char u8;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
`;

const PRELUDE: { readonly [D in Dialect]: string } = {
  cuda: `${TYPES}#define FN static __device__ __forceinline__\n`,
  cpu: `#include <stdint.h>\n#include <stddef.h>\n${TYPES}#define FN static inline __attribute__((always_inline))\n`,
};

const BIT_CASTS: { readonly [D in Dialect]: { readonly [C in BitCast]: string } } = {
  cuda: {
    bits_of: 'FN u32 bits_of(float x) { return __float_as_uint(x); }\n',
    float_of: 'FN float float_of(u32 x) { return __uint_as_float(x); }\n',
  },
  cpu: {
    bits_of: 'FN u32 bits_of(float x) { u32 u; __builtin_memcpy(&u, &x, 4); return u; }\n',
    float_of: 'FN float float_of(u32 u) { float x; __builtin_memcpy(&x, &u, 4); return x; }\n',
  },
};

/** What every kernel of this family begins with. */
export function prelude(dialect: Dialect): string {
  return PRELUDE[dialect];
}

/*
 * float16 below the normal range: adding 0.5f leaves the sum with a unit in the last place of 2^-24, which is the spacing
 * of float16 there, so the hardware's own rounding to nearest even does the work. Above it the exponent is rebased and
 * the 13 surplus bits are rounded to even by hand; a carry runs into the exponent as it should.
 */
const FLOAT_TO_HALF = `FN u16 half_of(float x) {
  const u32 u = bits_of(x), a = u & 0x7fffffffu;
  const u32 normal = (a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13;
  const u32 small = bits_of(float_of(a) + 0.5f) - 0x3f000000u;
  const u32 special = a > 0x7f800000u ? (0x7e00u | ((a >> 13) & 0x3ffu)) : 0x7c00u;
  const u32 finite = a < 0x38800000u ? small : normal;
  return (u16)(((u >> 16) & 0x8000u) | (a >= 0x477ff000u ? special : finite));
}
`;

/* Multiplying by 2^112 rebases the exponent and normalises subnormal numbers at once, exactly. */
const HALF_TO_FLOAT = `FN float float_of_half(u16 h) {
  const u32 sign = ((u32)h & 0x8000u) << 16, a = ((u32)h & 0x7fffu) << 13;
  const u32 finite = bits_of(float_of(a) * 5192296858534827628530496329220096.0f);
  const u32 special = a | 0x7f800000u;
  return float_of(sign | (a >= 0x0f800000u ? special : finite));
}
`;

const FLOAT_TO_BFLOAT = `FN u16 bfloat_of(float x) {
  const u32 u = bits_of(x);
  const u32 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
  return (u16)((u & 0x7fffffffu) > 0x7f800000u ? ((u >> 16) | 0x40u) : rounded);
}
`;

const BFLOAT_TO_FLOAT = `FN float float_of_bfloat(u16 h) { return float_of((u32)h << 16); }
`;

/*
 * Rounding twice to nearest can be wrong (a tie that the first rounding created). Rounding first to odd keeps the fact
 * that bits were lost in the last bit, so the second rounding is the only one that shows.
 */
const DOUBLE_TO_ODD = `FN float odd_float(double x) {
  const float f = (float)x;
  const double back = (double)f;
  if (back == x || x != x) return f;
  const u32 u = bits_of(f);
  const double magnitude = x < 0.0 ? -x : x, reached = back < 0.0 ? -back : back;
  return float_of((u - (reached > magnitude ? 1u : 0u)) | 1u);
}
`;

const INT64_TO_ODD = `FN double odd_double(i64 x) {
  const u64 m = x < 0 ? 0ull - (u64)x : (u64)x;
  const u64 kept = (m >> 53) != 0 ? (((m >> 11) | ((m & 0x7ffull) != 0 ? 1ull : 0ull)) << 11) : m;
  const double d = (double)kept;
  return x < 0 ? -d : d;
}
`;

/** Where an integer type ends: the number that is too small or its least, the first that is too large, and its largest, in C++. */
const ENDS = {
  i64: {
    low: '-9223372036854775808.0',
    high: '9223372036854775808.0',
    most: '9223372036854775807ll',
  },
  i32: { low: '-2147483648.0', high: '2147483648.0', most: '2147483647' },
  u8: { low: '0.0', high: '255.0', most: '255' },
} as const;

/* Out of range saturates, NaN gives 0: C leaves both undefined, and the two devices would differ. */
function saturate(to: keyof typeof ENDS, from: 'float' | 'double'): string {
  const { low, high, most } = ENDS[to];
  const f = from === 'float' ? 'f' : '';
  // in double the largest int32 is a number
  const end = to === 'i32' && from === 'double' ? `${most}.0` : `${high}${f}`;
  const least = to === 'u8' ? '0' : `(-${most} - 1)`;
  return `FN ${to} ${to}_of_${from}(${from} x) {
  if (!(x > ${low}${f})) return x == x ? (${to})${least} : (${to})0;
  return x >= ${end} ? (${to})${most} : (${to})x;
}
`;
}

const HELPERS = {
  half_of: FLOAT_TO_HALF,
  float_of_half: HALF_TO_FLOAT,
  bfloat_of: FLOAT_TO_BFLOAT,
  float_of_bfloat: BFLOAT_TO_FLOAT,
  odd_float: DOUBLE_TO_ODD,
  odd_double: INT64_TO_ODD,
  i64_of_float: saturate('i64', 'float'),
  i64_of_double: saturate('i64', 'double'),
  i32_of_float: saturate('i32', 'float'),
  i32_of_double: saturate('i32', 'double'),
  u8_of_float: saturate('u8', 'float'),
  u8_of_double: saturate('u8', 'double'),
} as const;

type Helper = keyof typeof HELPERS;

type BitCast = 'bits_of' | 'float_of';

/** What helpers call. */
const CASTS_OF: { readonly [H in Helper]?: readonly BitCast[] } = {
  half_of: ['bits_of', 'float_of'],
  float_of_half: ['bits_of', 'float_of'],
  bfloat_of: ['bits_of'],
  float_of_bfloat: ['float_of'],
  odd_float: ['bits_of', 'float_of'],
};

interface Step {
  readonly uses: readonly Helper[];
  readonly text: (x: string) => string;
}

const plain = (cast: string): Step => ({ uses: [], text: (x) => `(${cast})(${x})` });
const call = (...uses: Helper[]): Step => ({
  uses,
  text: (x) => uses.reduceRight((inner, name) => `${name}(${inner})`, x),
});

/** Storage to working value. */
function widen(from: ElementType): Step {
  if (from === 'float16') return call('float_of_half');
  if (from === 'bfloat16') return call('float_of_bfloat');
  if (from === 'bool') return { uses: [], text: (x) => `(u8)((${x}) != 0)` };
  return { uses: [], text: (x) => x };
}

const isFloating = (w: WorkingType): w is 'double' | 'float' => w === 'double' || w === 'float';

/** Working value to storage. */
function narrow(working: WorkingType, to: ElementType): Step {
  switch (to) {
    case 'float64':
      return plain('double');
    case 'float32':
      return plain('float');
    case 'float16':
      // An integer that float32 cannot hold is beyond float16's range in any case.
      if (working === 'double') return call('half_of', 'odd_float');
      return { uses: ['half_of'], text: (x) => `half_of((float)(${x}))` };
    case 'bfloat16':
      if (working === 'double') return call('bfloat_of', 'odd_float');
      if (working === 'i64') return call('bfloat_of', 'odd_float', 'odd_double');
      if (working === 'i32') {
        return {
          uses: ['bfloat_of', 'odd_float'],
          text: (x) => `bfloat_of(odd_float((double)(${x})))`,
        };
      }
      return { uses: ['bfloat_of'], text: (x) => `bfloat_of((float)(${x}))` };
    case 'int64':
      return isFloating(working) ? call(`i64_of_${working}`) : plain('i64');
    case 'int32':
      if (isFloating(working)) return call(`i32_of_${working}`);
      return { uses: [], text: (x) => `(i32)(u32)(${x})` };
    case 'uint8':
      return isFloating(working) ? call(`u8_of_${working}`) : plain('u8');
    case 'bool':
      return { uses: [], text: (x) => `(u8)((${x}) != 0)` };
    default:
      return { uses: [], text: (x) => x };
  }
}

/** A function of a kernel that converts one element. */
export interface Conversion {
  readonly name: string;
  readonly from: ElementType;
  readonly to: ElementType;
}

/**
 * The helper functions and the function `convert` from one element type to another. Floating to floating rounds once, to
 * nearest even, subnormal numbers kept; floating to integer truncates and saturates, NaN gives 0; integer to integer
 * wraps; anything to bool is `x != 0`, so NaN is true.
 */
export function conversionText(from: ElementType, to: ElementType, dialect: Dialect): string {
  return conversionsText([{ name: 'convert', from, to }], dialect);
}

/** Several conversions with the helper functions of all of them, each once; rules as for {@link conversionText}. */
export function conversionsText(conversions: readonly Conversion[], dialect: Dialect): string {
  const names = new Set<Helper>();
  const functions = conversions.map(({ name, from, to }) => {
    const source = elementInfo(from).storage;
    const target = elementInfo(to).storage;
    const head = `FN ${target} ${name}(${source} x)`;
    if (from === to || isRaw(from) || isRaw(to)) return `${head} { return x; }\n`;
    const first = widen(from);
    const second = narrow(elementInfo(from).working, to);
    for (const helper of [...first.uses, ...second.uses]) names.add(helper);
    return `${head} { return ${second.text(first.text('x'))}; }\n`;
  });
  const helpers = (Object.keys(HELPERS) as Helper[]).filter((name) => names.has(name));
  const called = new Set(helpers.flatMap((name) => CASTS_OF[name] ?? []));
  const casts = (['bits_of', 'float_of'] as const).filter((cast) => called.has(cast));
  return [
    ...casts.map((cast) => BIT_CASTS[dialect][cast]),
    ...helpers.map((name) => HELPERS[name]),
    ...functions,
  ].join('');
}
