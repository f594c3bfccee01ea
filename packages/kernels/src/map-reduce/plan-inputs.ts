import {
  inputsOf,
  variables,
  type Category,
  type RealExpr,
  type VectorExpr,
} from '@mercer/formula';
import type { Gather } from './gathers.js';
import { componentName } from './lower-formula.js';
import type { MapReduceInput } from './plan.js';
import type { MapReduceProblem } from './problem.js';

/** The inputs of formulas: how they are stored, and which are read as tables. */
export function planInputs(
  roots: readonly VectorExpr[],
  { dtype, storage = {} }: MapReduceProblem,
  values: readonly RealExpr[],
  gathers: readonly Gather[],
): readonly MapReduceInput[] {
  const nodes = inputsOf(...roots);
  checkStorage(storage, dtype, nodes);
  const read = new Set([...values, ...gathers.map(({ index }) => index)].flatMap(variables));
  const inputs = nodes.map(({ position, category, dim }) => {
    const stored = storage[position];
    const isTable = gathers.some(({ table }) => table === position);
    const isRead = Array.from({ length: dim }, (_, c) => componentName(category, position, c)).some(
      (name) => read.has(name),
    );
    return Object.freeze({
      ...{ position, category, dim },
      ...(stored !== undefined && { storage: stored }),
      ...(isTable && { table: isRead ? ('also' as const) : ('only' as const) }),
    });
  });
  return Object.freeze(inputs);
}

/** The inputs of a category whose current row is read. */
export const rowInputs = (
  inputs: readonly MapReduceInput[],
  wanted: Category,
): readonly MapReduceInput[] =>
  inputs.filter(({ category, table }) => category === wanted && table !== 'only');

/** How many components of the current row the inputs of a category have together. */
export function componentsOf(inputs: readonly MapReduceInput[], wanted: Category): number {
  return rowInputs(inputs, wanted).reduce((sum, { dim }) => sum + dim, 0);
}

/** Throws where two inputs have one position. */
export function checkInputs(inputs: readonly MapReduceInput[]): void {
  inputs.forEach(({ position }, n) => {
    if (inputs.findIndex((other) => other.position === position) === n) return;
    throw new RangeError(
      `cannot plan a map-reduce: input ${String(position)} stands in the formula with two dims or categories. ` +
        `Give every input a position of its own.`,
    );
  });
}

function checkStorage(
  storage: NonNullable<MapReduceProblem['storage']>,
  dtype: MapReduceProblem['dtype'],
  nodes: readonly { readonly position: number }[],
): void {
  for (const [position, stored] of Object.entries(storage)) {
    if (!['float16', 'bfloat16'].includes(stored)) {
      refuse(`input ${position} is stored as '${stored}'`, "Use 'float16' or 'bfloat16'.");
    }
    if (dtype !== 'float32') {
      refuse(
        `input ${position} is stored as ${stored} and the data type is ${dtype}`,
        'Use float32, which 16-bit inputs compute in.',
      );
    }
    if (!nodes.some((node) => String(node.position) === position)) {
      refuse(
        `the storage of input ${position} is given, and no formula reads it`,
        'Name inputs of the formulas.',
      );
    }
  }
}

function refuse(problem: string, remedy: string): never {
  throw new RangeError(`cannot plan a map-reduce: ${problem}. ${remedy}`);
}
