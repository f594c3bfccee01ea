import { inputsOf, postOrderVector, unrolledSize, type VectorExpr } from '@mercer/formula';
import type { DeviceLimits } from '../../device-limits.js';
import { dtypeBytes } from '../../dtype.js';
import { MAP_REDUCE_LIMITS } from '../limits.js';
import type { MapReduceProblem } from '../problem.js';
import { contractionIndices } from './contraction-index.js';

/** On a CPU a loop with a tile in registers is quicker from sums and results of this length on. */
const LONGEST_ON_CPU = 8;
/** Words of a row that a thread of a GPU keeps in registers. */
const LONGEST_ON_CUDA = 64;

/** Whether a formula is computed by loops over its components: where it is too long to be written out, or slower. */
export function isWide({ reduction, dtype }: MapReduceProblem, { kind }: DeviceLimits): boolean {
  const { formula, weight } = reduction;
  const roots = weight === undefined ? [formula] : [formula, weight];
  if (isBeyondLimits(reduction, roots)) return true;
  const terms = Math.max(...postOrderVector(...roots).map(termsOf));
  return kind === 'cpu'
    ? Math.max(terms, ...roots.map(({ dim }) => dim)) > LONGEST_ON_CPU
    : (terms * dtypeBytes(dtype)) / 4 > LONGEST_ON_CUDA;
}

function isBeyondLimits(
  { kind, k = 1 }: MapReduceProblem['reduction'],
  roots: readonly VectorExpr[],
): boolean {
  const { operations, components, results } = MAP_REDUCE_LIMITS;
  const dims = { i: 0, j: 0, parameter: 0 };
  for (const { category, dim } of inputsOf(...roots)) dims[category] += dim;
  const columns = Math.max(...roots.map(({ dim }) => dim));
  // beside the results of a weight there are the largest value and a sum of ones
  const numbers = kind.includes('K') ? columns * k : columns + (roots.length > 1 ? 2 : 0);
  return (
    unrolledSize(...roots) > operations ||
    Object.values(dims).some((dim) => dim > components) ||
    numbers > results
  );
}

/** Values that a node combines into one. */
function termsOf(node: VectorExpr): number {
  if (node.kind === 'components') return node.args[0]?.dim ?? 0;
  return node.kind === 'contract' ? contractionIndices(node.contraction).terms : 0;
}
