import {
  inputsOf,
  variablesSteps,
  type Category,
  type RealExpr,
  type Steps,
  type VectorExpr,
} from '@mercer/formula/plan';
import { PlanError } from '../plan-error.js';
import type { MapReduceInput } from './launched-plan.js';
import { componentName, type Gather } from './lowering/written-out.js';
import type { MapReduceProblem } from './problem.js';

/** How a lowered formula reads inputs. */
export interface InputReads {
  /** Whether rows of the input at a position are taken by index. */
  readonly isTable: (position: number) => boolean;
  /** Whether the current row of an input is read. */
  readonly isRead: (input: Pick<MapReduceInput, 'position' | 'category' | 'dim'>) => boolean;
}

/** In steps, how scalar expressions over components of inputs and of rows by index read them. */
export function* unrolledReads(
  values: readonly RealExpr[],
  gathers: readonly Gather[],
): Steps<InputReads> {
  const read = new Set(yield* variablesSteps([...values, ...gathers.map(({ index }) => index)]));
  return {
    isTable: (position) => gathers.some(({ table }) => table === position),
    isRead: ({ position, category, dim }) =>
      Array.from({ length: dim }, (_, c) => componentName(category, position, c)).some((name) =>
        read.has(name),
      ),
  };
}

/** The inputs of formulas: how they are stored, and which are read as tables. */
export function planInputs(
  roots: readonly VectorExpr[],
  { dtype, storage = {} }: MapReduceProblem,
  { isTable, isRead }: InputReads,
): readonly MapReduceInput[] {
  const nodes = inputsOf(...roots);
  checkStorage(storage, dtype, nodes);
  const inputs = nodes.map(({ position, category, dim }) => {
    const stored = Object.hasOwn(storage, position) ? storage[position] : undefined;
    const table = isRead({ position, category, dim }) ? ('also' as const) : ('only' as const);
    return Object.freeze({
      position,
      category,
      dim,
      storage: stored,
      table: isTable(position) ? table : undefined,
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

/** What the summary of a plan says of values of pairs, where there are any. */
export function pairsText(inputs: readonly MapReduceInput[]): string[] {
  const count = componentsOf(inputs, 'pair');
  return count === 0 ? [] : [`pairs ${count}`];
}

/** Throws where two inputs have one position. */
export function checkInputs(inputs: readonly MapReduceInput[]): void {
  inputs.forEach(({ position }, n) => {
    if (inputs.findIndex((other) => other.position === position) === n) return;
    throw new PlanError(
      'UNSUPPORTED',
      `cannot plan a map-reduce: input ${position} stands in the formula with two dims or categories. ` +
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
  throw new PlanError('UNSUPPORTED', `cannot plan a map-reduce: ${problem}. ${remedy}`);
}
