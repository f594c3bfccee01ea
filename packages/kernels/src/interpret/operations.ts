import type { Op } from '@mercer/formula';
import { FUNCTION_OPERATIONS, type FunctionOperation } from './function-operations.js';

const ARITHMETIC = [
  ...(['copy', 'add', 'sub', 'mul', 'div', 'neg', 'abs', 'sign', 'sqrt', 'rsqrt'] as const),
  ...(['powNonNegative', 'powAny', 'exp', 'log', 'tanh', 'min', 'max'] as const),
  ...(['lt', 'le', 'gt', 'ge', 'eq', 'ne', 'select'] as const),
  ...(['multiplyAdd', 'absoluteDifference', 'squaredDifference'] as const),
  ...(['addAbsoluteDifference', 'addSquaredDifference', 'maxAbsoluteDifference'] as const),
  'expOfNegative',
  ...(['addPower3', 'addPower4', 'addPower5', 'addPower6', 'addPower7', 'addPower8'] as const),
  ...(['scaledDifference', 'scaledAbsoluteDifference', 'scaledSign'] as const),
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
