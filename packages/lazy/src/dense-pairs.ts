import { reduction as describe, type VectorExpr } from '@mercer/formula';
import type { Tensor } from '@mercer/tensor';
import type { CallOptions } from './call-options.js';
import { commonExtent } from './extent.js';
import type { Input } from './input.js';
import { computed } from './reductions.js';
import { jointly } from './task.js';
import { rowsAsBatch } from './transforms.js';

/** The values of a formula at all pairs, (..batch, M, N, dim). */
export async function densePairs(
  what: string,
  formula: VectorExpr,
  inputs: readonly Input[],
  options: Pick<CallOptions, 'stream' | 'device' | 'debug' | 'signal'>,
): Promise<Tensor> {
  const { rowsI = 1 } = commonExtent(what, inputs);
  const dense = rowsAsBatch(what, { formula, inputs }, rowsI);
  const reduction = describe('Sum', dense.formula, { axis: 0 });
  const task = jointly({ what, reduction, inputs: dense.inputs });
  const [found] = await computed(task, [], options);
  const value = found?.value;
  if (value === undefined) throw new Error('a sum has values');
  return value;
}
