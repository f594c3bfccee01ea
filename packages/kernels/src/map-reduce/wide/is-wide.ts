import {
  inputsOf,
  postOrderVector,
  unrolledSize,
  type Reduction,
  type VectorExpr,
} from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { INTERPRETER_LIMITS, MAP_REDUCE_LIMITS } from '../limits.js';
import { planSums } from '../plan-sums.js';
import type { MapReduceProblem } from '../problem.js';
import { rootsOf } from '../values-of.js';
import { contractionIndices } from './contraction-index.js';

/** On a CPU a loop with a tile in registers is quicker from sums and results of this length on. */
const LONGEST_ON_CPU = 8;
/** Words of a row that a thread of a GPU keeps in registers. */
const LONGEST_ON_CUDA = 28;

/**
 * Whether a formula is computed by loops over its components: where it is too long to be written out, or slower. Several
 * reductions in one pass, rows by index and unusual sums are written out as long as that can be, and loops beyond; several
 * reductions have no loops. Everything is written out for the interpreter.
 */
export function isWide(problem: MapReduceProblem, limits: DeviceLimits): boolean {
  const { kind } = limits;
  const { reduction, further = [], dtype } = problem;
  const all = [reduction, ...further];
  if (limits.kind === 'cpu' && limits.interpreted === true) {
    checkInterpreter(all);
    return false;
  }
  if (isBeyondLimits(all)) return true;
  const nodes = postOrderVector(...all.flatMap(rootsOf));
  if (further.length > 0 || planSums(problem) !== undefined) return false;
  if (nodes.some((node) => node.kind === 'gather')) return false;
  const terms = Math.max(...nodes.map(termsOf));
  return kind === 'cpu'
    ? Math.max(terms, ...rootsOf(reduction).map(({ dim }) => dim)) > LONGEST_ON_CPU
    : (terms * dtypeBytes(dtype)) / 4 > LONGEST_ON_CUDA;
}

function checkInterpreter(all: readonly Reduction[]): void {
  const { operations, components, results } = INTERPRETER_LIMITS;
  if (!isBeyondLimits(all, INTERPRETER_LIMITS)) return;
  throw new RangeError(
    `cannot plan a map-reduce: the interpreter of CPU kernels takes ${String(operations)} operations of a pair, ` +
      `${String(components)} components of all inputs of i, of j and of parameters, and ${String(results)} numbers of a result. ` +
      `Install a C++ compiler, or shorten the vectors.`,
  );
}

/** Whether formulas are beyond `MAP_REDUCE_LIMITS`, or others. */
export function isBeyondLimits(
  all: readonly Reduction[],
  limits: { readonly [K in keyof typeof MAP_REDUCE_LIMITS]: number } = MAP_REDUCE_LIMITS,
): boolean {
  const roots = all.flatMap(rootsOf);
  const { operations, components, results } = limits;
  const dims = { i: 0, j: 0, parameter: 0 };
  for (const { category, dim } of inputsOf(...roots)) dims[category] += dim;
  // beside the results of a weight there are the largest value and a sum of ones
  const numbers = all.map(({ formula, weight, k = 1 }) =>
    Math.max(formula.dim * k, (weight?.dim ?? 0) + 2),
  );
  return (
    unrolledSize(...roots) > operations ||
    Object.values(dims).some((dim) => dim > components) ||
    numbers.reduce((sum, one) => sum + one) > results
  );
}

/** Values that a node combines into one. */
function termsOf(node: VectorExpr): number {
  if (node.kind === 'components') return node.args[0]?.dim ?? 0;
  return node.kind === 'contract' ? contractionIndices(node.contraction).terms : 0;
}
