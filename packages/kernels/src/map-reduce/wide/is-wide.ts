import {
  inputsOf,
  orderSteps,
  traitsOf,
  unrolledSizeSteps,
  type Reduction,
  type Steps,
  type VectorExpr,
} from '@mercer/formula';
import { isInterpreted, type DeviceLimits } from '../../device-limits.js';
import { PlanError } from '../../plan-error.js';
import { dtypeBytes } from '../../dtype.js';
import { INTERPRETER_LIMITS, MAP_REDUCE_LIMITS } from '../limits.js';
import { planSums } from '../plan-sums.js';
import { wholeProblem, type MapReduceProblem } from '../problem.js';
import { rootsOf } from '../lowering/written-out.js';
import { contractionIndices } from '../lowering/contraction-index.js';

/** On a CPU a loop with a tile in registers is quicker from sums and results of this length on. */
const LONGEST_ON_CPU = 8;
/** Words of a row that a thread of a GPU keeps in registers; beside many columns, up to as many words, loops take longer. */
const LONGEST_ON_CUDA = { column: 28, columns: 40 } as const;
const MANY_COLUMNS = 16;

/**
 * In steps, whether a formula is computed by loops over its components: where it is too long to be written out, or slower. Several
 * reductions in one pass, rows by index and unusual sums are written out as long as that can be, and loops beyond; several
 * reductions have no loops. Everything is written out for the interpreter. `beside` are reductions that would share the pass.
 */
export function* isWide(
  given: MapReduceProblem,
  limits: DeviceLimits,
  beside: readonly Reduction[] = [],
): Steps<boolean> {
  const { kind } = limits;
  const problem = wholeProblem(given);
  const { reduction, further = [], dtype } = problem;
  const all = [reduction, ...further];
  if (isInterpreted(limits)) {
    yield* checkInterpreter(all);
    return false;
  }
  if (yield* isBeyondLimits(all)) return true;
  const nodes = yield* orderSteps<VectorExpr>(all.flatMap(rootsOf));
  if (further.length > 0 || planSums(problem) !== undefined) return false;
  if (nodes.some((node) => node.kind === 'gather')) return false;
  const terms = nodes.reduce((most, node) => Math.max(most, termsOf(node)), 0);
  const widest = (of: readonly Reduction[]): number =>
    Math.max(...of.flatMap(rootsOf).map(({ dim }) => dim));
  if (kind === 'cpu') return Math.max(terms, widest([reduction])) > LONGEST_ON_CPU;
  const words = dtypeBytes(dtype) / 4;
  const columns = widest([reduction, ...beside]);
  const hasMany = columns >= MANY_COLUMNS && columns * words <= LONGEST_ON_CUDA.columns;
  const isPlain = reduction.weight === undefined && !traitsOf(reduction.kind).takesK;
  return terms * words > LONGEST_ON_CUDA[hasMany && isPlain ? 'columns' : 'column'];
}

function* checkInterpreter(all: readonly Reduction[]): Steps<void> {
  if (!(yield* isBeyondLimits(all, INTERPRETER_LIMITS))) return;
  const { operations, components, results } = INTERPRETER_LIMITS;
  const size = yield* sizeOf(all);
  throw new PlanError(
    'LIMIT',
    `cannot plan a map-reduce: the interpreter of CPU kernels takes ${operations} operations of a pair, ` +
      `${components} components of all inputs of i, of j and of parameters, and ${results} numbers of a result. ` +
      `The formula takes ${size.operations} operations, ${size.components} components and ${size.results} numbers. ` +
      'Compute parts of it first and pass them as inputs, or shorten the vectors.',
  );
}

type Size = { readonly [K in keyof typeof MAP_REDUCE_LIMITS]: number };

/** Operations of a pair, components of the widest side, and numbers that a row's results take. */
function* sizeOf(all: readonly Reduction[]): Steps<Size> {
  const roots = all.flatMap(rootsOf);
  const dims = { i: 0, j: 0, pair: 0, parameter: 0 };
  for (const { category, dim } of inputsOf(...roots)) dims[category] += dim;
  // beside the results of a weight there are the largest value and a sum of ones
  const numbers = all.map(({ formula, weight, k = 1 }) =>
    Math.max(formula.dim * k, (weight?.dim ?? 0) + 2),
  );
  return {
    operations: yield* unrolledSizeSteps(roots),
    components: Math.max(...Object.values(dims)),
    results: numbers.reduce((sum, one) => sum + one),
  };
}

/** In steps, whether formulas are beyond `MAP_REDUCE_LIMITS`, or others. */
export function* isBeyondLimits(
  all: readonly Reduction[],
  limits: Size = MAP_REDUCE_LIMITS,
): Steps<boolean> {
  const size = yield* sizeOf(all);
  return (
    size.operations > limits.operations ||
    size.components > limits.components ||
    size.results > limits.results
  );
}

/** Values that a node combines into one. */
function termsOf(node: VectorExpr): number {
  if (node.kind === 'components') return node.args[0]?.dim ?? 0;
  return node.kind === 'contract' ? contractionIndices(node.contraction).terms : 0;
}
