/*
 * float16 and bfloat16 as 16-bit patterns in a Uint16Array. Every conversion rounds once, to nearest even: a double is
 * first rounded to odd in float32, which keeps the fact that bits were lost, so the second rounding decides alone.
 */
const single = new Float32Array(1);
const bits = new Uint32Array(single.buffer);

function patternOf(value: number): number {
  single[0] = value;
  return bits[0] ?? 0;
}

function valueOf(pattern: number): number {
  bits[0] = pattern;
  return single[0] ?? 0;
}

/** Bits of the float32 that `value` rounds to odd; NaN stays NaN. */
function oddFloatBits(value: number): number {
  const pattern = patternOf(value);
  const nearest = valueOf(pattern);
  if (nearest === value || Number.isNaN(value)) return pattern;
  return (Math.abs(nearest) > Math.abs(value) ? pattern - 1 : pattern) | 1;
}

/** The float16 pattern nearest to a number. */
export function float16Bits(value: number): number {
  const pattern = oddFloatBits(value);
  const sign = (pattern >>> 16) & 0x8000;
  const magnitude = pattern & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00 | ((magnitude >>> 13) & 0x3ff);
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude < 0x38800000) {
    // Adding 0.5 leaves a unit in the last place of 2^-24, float16's spacing below its normal range.
    return sign | (patternOf(valueOf(magnitude) + 0.5) - 0x3f000000);
  }
  return sign | ((magnitude - 0x38000000 + 0xfff + ((magnitude >>> 13) & 1)) >>> 13);
}

/** The bfloat16 pattern nearest to a number. */
export function bfloat16Bits(value: number): number {
  const pattern = oddFloatBits(value);
  const magnitude = pattern & 0x7fffffff;
  if (magnitude > 0x7f800000) return (pattern >>> 16) | 0x40;
  return ((pattern >>> 0) + 0x7fff + ((pattern >>> 16) & 1)) >>> 16;
}

let float16Table: Float32Array | undefined;

/** Values of all float16 patterns, made at first use. */
function float16Values(): Float32Array {
  if (float16Table !== undefined) return float16Table;
  const table = new Float32Array(65536);
  for (let pattern = 0; pattern < 65536; pattern++) {
    const exponent = (pattern >>> 10) & 0x1f;
    const fraction = pattern & 0x3ff;
    let value: number;
    if (exponent === 0) value = fraction * 2 ** -24;
    else if (exponent === 31) value = fraction === 0 ? Infinity : NaN;
    else value = (1 + fraction / 1024) * 2 ** (exponent - 15);
    table[pattern] = (pattern & 0x8000) === 0 ? value : -value;
  }
  float16Table = table;
  return table;
}

/** The values of float16 patterns, exact. */
export function float16ToFloat32(patterns: Uint16Array): Float32Array<ArrayBuffer> {
  const table = float16Values();
  const values = new Float32Array(patterns.length);
  for (let i = 0; i < patterns.length; i++) values[i] = table[patterns[i] ?? 0] ?? 0;
  return values;
}

/** The values of bfloat16 patterns, exact. */
export function bfloat16ToFloat32(patterns: Uint16Array): Float32Array<ArrayBuffer> {
  const values = new Float32Array(patterns.length);
  const words = new Uint32Array(values.buffer);
  for (let i = 0; i < patterns.length; i++) words[i] = (patterns[i] ?? 0) << 16;
  return values;
}
