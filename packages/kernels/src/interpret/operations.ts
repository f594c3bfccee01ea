import type { Op, CallNode, MathOp } from '@mercer/formula/plan';
import { mathName, type MathFunctionParts } from '../math/math-function.js';
import { largeBesselK, temmeSeries } from '../math/bessel-k-series.js';
import { atZero, SINH } from '../math/bessel-k-text.js';

/** How long {@link besselKTable} is. */
const BESSEL_K_NUMBERS = 162;

/**
 * What the text of a modified Bessel function of the second kind has as literals, in the order of native/interpreter/
 * table-functions.h of cpu-runtime: of order |nu|, with the sign of nu.
 */
function besselKTable(nu: number): readonly number[] {
  const size = Math.abs(nu);
  const { mu, whole, q0, gamma1, gamma2, reflection, value, next } = temmeSeries(size);
  return [
    ...[mu, whole, q0, gamma1, gamma2, reflection, 2 ** mu, 2 ** -mu, nu, atZero(nu), nu - 0.5, 0],
    ...[...SINH, 0],
    ...[...value, ...next].flat(),
    ...[...largeBesselK(mu), ...largeBesselK(mu + 1)],
  ];
}

/** The name of an operation that is a function. */
type FunctionOperation = `math_${string}`;

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

const ARITHMETIC = [
  ...(['copy', 'add', 'sub', 'mul', 'div', 'neg', 'abs', 'sign', 'sqrt', 'rsqrt'] as const),
  ...(['powNonNegative', 'powAny', 'exp', 'log', 'tanh', 'min', 'max'] as const),
  ...(['lt', 'le', 'gt', 'ge', 'eq', 'ne', 'select'] as const),
  ...(['multiplyAdd', 'absoluteDifference', 'squaredDifference'] as const),
  ...(['addAbsoluteDifference', 'addSquaredDifference', 'maxAbsoluteDifference'] as const),
  'expOfNegative',
  ...(['addPower3', 'addPower4', 'addPower5', 'addPower6', 'addPower7', 'addPower8'] as const),
  ...(['scaledDifference', 'scaledAbsoluteDifference', 'scaledSign', 'mulAbsolute'] as const),
] as const;

/** An operation of the interpreter. */
export type TileOperation = (typeof ARITHMETIC)[number] | FunctionOperation;

/** What an instruction does, in the order of native/interpreter/operations.inc of cpu-runtime. */
export const TILE_OPERATIONS: readonly TileOperation[] = [
  ...ARITHMETIC,
  ...FUNCTION_OPERATIONS.map(({ name }) => name),
];

const NUMBERS: ReadonlyMap<string, number> = new Map(
  TILE_OPERATIONS.map((operation, number) => [operation, number]),
);

/** Its number in a program. */
export function operationNumber(operation: TileOperation): number {
  return NUMBERS.get(operation) ?? -1;
}

/** The operation of the same name that a node of the language has; powers are decided by their base. */
export function plainOperation(op: Op): TileOperation | undefined {
  return NUMBERS.has(op) ? (op as TileOperation) : undefined;
}
