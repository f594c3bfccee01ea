import type { MathOp } from '@mercer/formula';
import { indent } from '../emit/text.js';
import { cudaType } from '../emit/literals.js';
import type { PairwiseDType } from '../dtype.js';
import { COMMON_PIECES } from './common-pieces.js';
import { FUNCTION_TEXTS } from './function-text.js';
import { mathName, partsOf, type MathFunction, type MathFunctionParts } from './math-function.js';
import { pieceTexts, type Piece } from './pieces.js';

/** Functions that the compiler has, of known error. Calls of them are long, so each is one function. */
const BUILTINS: { readonly [K in MathOp]?: string } = {
  sin: 'sin',
  cos: 'cos',
  tan: 'tan',
  asin: 'asin',
  acos: 'acos',
  atan: 'atan',
  atan2: 'atan2',
  sinh: 'sinh',
  cosh: 'cosh',
  erf: 'erf',
  erfc: 'erfc',
  log1p: 'log1p',
  expm1: 'expm1',
};

const PIECES = {
  ...COMMON_PIECES,
  sinCos: {
    needs: [],
    text: 'MATH_BIG void sin_cos(Wide x, Wide& s, Wide& c) { sincos(x, &s, &c); }',
  },
};

const PRELUDE = `typedef double Wide;
typedef long long Bits;
typedef bool Mask;
#define MATH_SMALL __device__ __forceinline__
#define MATH_BIG __device__ __noinline__
#define WIDE_INFINITY __longlong_as_double(0x7ff0000000000000ll)
#define WIDE_NAN __longlong_as_double(0x7fffffffffffffffll)
MATH_SMALL Wide wide(double x) { return x; }
MATH_SMALL Bits bits_of(Wide x) { return __double_as_longlong(x); }
MATH_SMALL Wide wide_of(Bits x) { return __longlong_as_double(x); }
MATH_SMALL Wide wide_sqrt(Wide x) { return sqrt(x); }`;

/** Functions on values of the data type, and the parts that they share, each once. */
export function cudaMathText(functions: readonly MathFunction[], dtype: PairwiseDType): string[] {
  const all = functions.map((key) => partsOf(key));
  const own = all.filter(({ fn }) => !isBuiltin(fn));
  const texts = own.map((parts) =>
    FUNCTION_TEXTS[parts.fn as keyof typeof FUNCTION_TEXTS](parts.attributes),
  );
  const pieces = new Set<Piece>(texts.flatMap(({ needs }) => needs));
  return [
    ...(own.length > 0 ? [PRELUDE] : []),
    ...pieceTexts(PIECES, pieces),
    ...own.map((parts, n) => ownText(parts, texts[n]?.body ?? '', dtype)),
    ...all.filter(({ fn }) => isBuiltin(fn)).map((parts) => builtinText(parts, dtype)),
  ];
}

const isBuiltin = (fn: MathOp): boolean =>
  fn === 'floor' || fn === 'ceil' || fn === 'softplus' || Object.hasOwn(BUILTINS, fn);

function builtinText(parts: MathFunctionParts, dtype: PairwiseDType): string {
  const type = cudaType(dtype);
  const f = dtype === 'float32' ? 'f' : '';
  const { fn } = parts;
  const parameters = fn === 'atan2' ? ['y', 'x'] : ['x'];
  const list = parameters.map((p) => `${type} ${p}`).join(', ');
  const head = (how: string): string => `__device__ ${how} ${type} ${mathName(parts)}(${list})`;
  if (fn === 'floor' || fn === 'ceil') return `${head('__forceinline__')} { return ${fn}${f}(x); }`;
  const value =
    fn === 'softplus'
      ? `(x > 0.0${f} ? x : 0.0${f}) + log1p${f}(exp${f}(-fabs${f}(x)))`
      : `${BUILTINS[fn] ?? ''}${f}(${parameters.join(', ')})`;
  return `${head('__noinline__')} { return ${value}; }`;
}

function ownText(parts: MathFunctionParts, body: string, dtype: PairwiseDType): string {
  const name = mathName(parts);
  const wide = `MATH_BIG Wide ${name}_wide(Wide x) {\n${indent(body)}\n}`;
  const type = cudaType(dtype);
  return `${wide}
MATH_SMALL ${type} ${name}(${type} x) { return (${type})${name}_wide((Wide)x); }`;
}
