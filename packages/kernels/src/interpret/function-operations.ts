import type { CallNode, MathOp } from '@mercer/formula';
import { mathName, type MathFunctionParts } from '../math/math-function.js';
import { besselKTable, BESSEL_K_NUMBERS } from './bessel-k-table.js';

/** The name of an operation that is a function. */
export type FunctionOperation = `math_${string}`;

/** Functions whose fixed numbers are one whole number, with those that are compiled ahead. */
const ORDERS: { readonly [K in MathOp]?: readonly [least: number, most: number] } = {
  polygamma: [0, 20],
  sinXDivX: [0, 12],
  besselJ: [-24, 24],
};

const PLAIN: readonly MathOp[] = [
  ...(['floor', 'ceil', 'sin', 'cos', 'tan', 'asin', 'acos', 'atan', 'atan2'] as const),
  ...(['sinh', 'cosh', 'erf', 'erfc', 'log1p', 'expm1', 'softplus', 'lgamma'] as const),
];

/** Functions whose fixed numbers are any, as the table that their native text reads. */
const TABLES: {
  readonly [K in MathOp]?: {
    readonly numbers: number;
    readonly of: (attribute: number) => readonly number[];
  };
} = {
  round: { numbers: 1, of: (decimals) => [10 ** decimals] },
  besselK: { numbers: BESSEL_K_NUMBERS, of: (nu) => besselKTable(Math.abs(nu)) },
  radialBesselK: { numbers: BESSEL_K_NUMBERS, of: besselKTable },
};

/** Functions with their fixed numbers that are compiled ahead from the text of compiled kernels. */
export const READY_FUNCTIONS: readonly MathFunctionParts[] = [
  ...PLAIN.map((fn) => ({ fn, attributes: [] })),
  ...Object.entries(ORDERS).flatMap(([fn, [least, most]]) =>
    Array.from({ length: most - least + 1 }, (_, k) => ({
      fn: fn as MathOp,
      attributes: [least + k],
    })),
  ),
];

/** An operation that is a function: of these parts, or by a table of so many numbers. */
export type FunctionRow = { readonly name: FunctionOperation } & (
  { readonly parts: MathFunctionParts } | { readonly fn: MathOp; readonly numbers: number }
);

const nameOf = (parts: MathFunctionParts): FunctionOperation =>
  mathName(parts) as FunctionOperation;

/** The operations that are functions, in the order of their numbers. */
export const FUNCTION_OPERATIONS: readonly FunctionRow[] = [
  ...READY_FUNCTIONS.map((parts) => ({ name: nameOf(parts), parts })),
  ...Object.entries(TABLES).map(([key, { numbers }]) => {
    const fn = key as MathOp;
    return { name: nameOf({ fn, attributes: [] }), fn, numbers };
  }),
];

const NAMES: ReadonlySet<string> = new Set(FUNCTION_OPERATIONS.map(({ name }) => name));

/** The operation that a call is, with the table that it reads; nothing for a function that the interpreter lacks. */
export function functionOperation({
  fn,
  attributes,
}: CallNode):
  { readonly operation: FunctionOperation; readonly table?: readonly number[] } | undefined {
  const table = TABLES[fn];
  if (table !== undefined) {
    return { operation: nameOf({ fn, attributes: [] }), table: table.of(attributes[0] ?? 0) };
  }
  const operation = nameOf({ fn, attributes });
  return NAMES.has(operation) ? { operation } : undefined;
}
