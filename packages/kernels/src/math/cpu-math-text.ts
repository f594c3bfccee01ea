import { indent } from '../emit/text.js';
import { instruction, vectorUnit, type CpuLevel } from '../emit/cpu-vector.js';
import type { PairwiseDType } from '../dtype.js';
import { COMMON_PIECES } from './common-pieces.js';
import { CPU_ANGLE } from './cpu-angle.js';
import { FUNCTION_TEXTS } from './function-text.js';
import { mathName, partsOf, type MathFunction, type MathFunctionParts } from './math-function.js';
import { pieceTexts, type Piece } from './pieces.js';

const PIECES = { ...COMMON_PIECES, angle: CPU_ANGLE };

/** Functions on vectors `V`, and the parts that they share, each once. */
export function cpuMathText(
  functions: readonly MathFunction[],
  dtype: PairwiseDType,
  level: CpuLevel,
): string[] {
  if (functions.length === 0) return [];
  const all = functions.map((key) => partsOf(key));
  const inDouble = all.map((parts) => doubleFunction(parts));
  const pieces = new Set<Piece>(inDouble.flatMap((one) => one?.needs ?? []));
  return [
    ...(inDouble.some((one) => one !== undefined) ? [preludeText(dtype, level)] : []),
    ...pieceTexts(PIECES, pieces),
    ...all.map((parts, n) => {
      const one = inDouble[n];
      return one === undefined
        ? wholeText(parts, dtype)
        : `${one.text}\n${outerText(parts, one.parameters, dtype)}`;
    }),
  ];
}

/** A function in double precision, `Wide name_wide(Wide x)`. */
interface DoubleFunction {
  readonly text: string;
  readonly parameters: readonly string[];
  readonly needs: readonly Piece[];
}

/** A function in double precision; undefined for those that are written in the data type. */
function doubleFunction(parts: MathFunctionParts): DoubleFunction | undefined {
  const { fn, attributes } = parts;
  if (fn === 'floor' || fn === 'ceil') return undefined;
  const { needs, body } = FUNCTION_TEXTS[fn](attributes);
  const parameters = fn === 'atan2' ? ['y', 'x'] : ['x'];
  const list = parameters.map((name) => `Wide ${name}`).join(', ');
  return {
    text: `MATH_BIG Wide ${mathName(parts)}_wide(${list}) {\n${indent(body)}\n}`,
    parameters,
    needs,
  };
}

/** Functions in double precision alone, and the parts that they share, each once; none of floor and ceil. */
export function cpuDoubleFunctions(functions: readonly MathFunctionParts[]): string[] {
  const inDouble = functions.flatMap((parts) => doubleFunction(parts) ?? []);
  return [
    ...pieceTexts(PIECES, new Set<Piece>(inDouble.flatMap(({ needs }) => needs))),
    ...inDouble.map(({ text }) => text),
  ];
}

/** Types and what both dialects must have, in terms of vectors as wide as those of the data type. */
export function preludeText(dtype: PairwiseDType, level: CpuLevel): string {
  const bytes = String(vectorUnit(level).bytes);
  const vector = (base: string, name: string): string =>
    `typedef ${base} ${name} __attribute__((vector_size(${bytes}), may_alias));`;
  const types =
    dtype === 'float64'
      ? 'typedef V Wide;\ntypedef I Bits;\ntypedef I Mask;'
      : `${vector('double', 'Wide')}
${vector('long long', 'Bits')}
typedef Bits Mask;
typedef float Half __attribute__((vector_size(${vectorUnit(level).bytes / 2}), may_alias));`;
  return `${types}
#define MATH_SMALL INLINE
#define MATH_BIG static __attribute__((noinline, unused))
#define WIDE_INFINITY __builtin_inf()
#define WIDE_NAN __builtin_nan("")
constexpr int WIDE_LANES = sizeof(Wide) / sizeof(double);
INLINE Wide wide(double x) { return (Wide){} + x; }
INLINE Bits bits_of(Wide x) { return (Bits)x; }
INLINE Wide wide_of(Bits x) { return (Wide)x; }
${instruction('wide_sqrt', level === 'arm64' ? 'fsqrt' : 'sqrt', level, 'float64', 1, 'Wide')}`;
}

/** The function on vectors of the data type: float32 as two halves, each rounded once. */
function outerText(
  parts: MathFunctionParts,
  parameters: readonly string[],
  dtype: PairwiseDType,
): string {
  const name = mathName(parts);
  const list = parameters.map((p) => `V ${p}`).join(', ');
  if (dtype === 'float64') {
    return `INLINE V ${name}(${list}) { return ${name}_wide(${parameters.join(', ')}); }`;
  }
  const load = parameters.map((p) => `in_${p}.v = ${p};`).join(' ');
  const args = parameters.map((p) => `__builtin_convertvector(in_${p}.half[n], Wide)`).join(', ');
  return `static __attribute__((unused)) V ${name}(${list}) {
  union { V v; Half half[2]; } ${parameters.map((p) => `in_${p}`).join(', ')}, out;
  ${load}
  for (int n = 0; n < 2; n++) out.half[n] = __builtin_convertvector(${name}_wide(${args}), Half);
  return out.v;
}`;
}

/** floor and ceil: the nearest whole number, moved where it is on the wrong side. */
function wholeText(parts: MathFunctionParts, dtype: PairwiseDType): string {
  const [limit, sign] =
    dtype === 'float32'
      ? ['8388608.0f', '(int)0x80000000']
      : ['4503599627370496.0', '(long long)0x8000000000000000ull'];
  const move = parts.fn === 'floor' ? 'r > x ? r - splat(1) : r' : 'r < x ? r + splat(1) : r';
  return `INLINE V ${mathName(parts)}(V x) {
  const V size = (V)((I)x & ~${sign}), whole = splat(${limit});
  const V r = (size + whole) - whole, signed_r = (V)((I)r | ((I)x & ${sign}));
  const V moved = ${move.replaceAll(/\br\b/g, 'signed_r')};
  return size < whole ? (V)((I)moved | ((I)x & ${sign})) : x;
}`;
}
