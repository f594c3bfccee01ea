import { isMathFunction, type MathFunction } from './math-function.js';
import { cpuLiteral } from '../emit/literals.js';

/** Parts that the texts of functions share. */
export type Piece =
  | 'bits'
  | 'whole'
  | 'scale'
  | 'exp'
  | 'expm1'
  | 'logParts'
  | 'log'
  | 'log1p'
  | 'angleKernels'
  | 'angle'
  | 'sinCos'
  | 'sinPi'
  | 'asinKernel'
  | 'atanKernel'
  | 'erfKernel'
  | 'erfcKernel'
  | 'lgammaPositive';

/** A part: the parts that it calls, and its text. */
export interface PieceText {
  readonly needs: readonly Piece[];
  readonly text: string;
}

/** How a dialect writes every part; one that is written in the common text is left out. */
export type PieceTable = { readonly [P in Piece]: PieceText };

/** The texts of parts and of what they need, each once, in order of need. */
export function pieceTexts(table: PieceTable, wanted: Iterable<Piece>): string[] {
  return withNeeds(wanted, (piece) => table[piece].needs).map((piece) => table[piece].text);
}

/** What is wanted and what that needs, each once and behind what it needs. */
function withNeeds<K>(wanted: Iterable<K>, needsOf: (one: K) => readonly K[]): K[] {
  const all = new Set<K>();
  const include = (one: K): void => {
    needsOf(one).forEach(include);
    all.add(one);
  };
  for (const one of wanted) include(one);
  return [...all];
}

/** The helpers asked for with those that they call, each once and behind those, and the functions of `math` among them. */
export function helpersInOrder<H extends string>(
  wanted: Iterable<H | MathFunction>,
  needs: { readonly [K in H]: readonly H[] },
): { readonly own: H[]; readonly functions: MathFunction[] } {
  const all = [...new Set(wanted)];
  return {
    own: withNeeds(
      all.filter((helper): helper is H => !isMathFunction(helper)),
      (helper) => needs[helper],
    ),
    functions: all.filter(isMathFunction),
  };
}

/** A function in the text that both dialects share: `Wide name(Wide x)`, or of y and x. */
export interface FunctionText {
  readonly needs: readonly Piece[];
  /** The statements of its body; they end with the return. */
  readonly body: string;
}

/** From the fixed numbers of a function to its text. */
export type FunctionRule = (attributes: readonly number[]) => FunctionText;

/** A finite float64 literal, the same in host C++ and CUDA C++. */
export const doubleLiteral = (value: number): string => cpuLiteral(value, 'float64');

/** Horner's scheme as nested products and sums, which both compilers fuse where they can. */
export function hornerText(coefficients: readonly number[], x: string): string {
  return coefficients.map(doubleLiteral).reduceRight((high, low) => `(${high} * ${x} + ${low})`);
}
