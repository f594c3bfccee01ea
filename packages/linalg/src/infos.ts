import type { Tensor, WorkOptions } from '@mercer/tensor';
import { assertNotPreparing } from '@mercer/tensor/operation';
import {
  NoConvergenceError,
  NotFiniteError,
  NotPositiveDefiniteError,
  NotSemidefiniteError,
  SingularMatrixError,
  type LinalgError,
} from './errors.js';

/** What a positive info of an operation means. */
export type InfoMeaning = 'definite' | 'semidefinite' | 'regular' | 'converged';

/** The info of an iteration that did not end, where positive ones mean something else. */
const NOT_CONVERGED = -2;

const POSITIVE: {
  readonly [M in InfoMeaning]: (
    what: string,
    batch: readonly number[],
    info: number,
  ) => LinalgError;
} = {
  definite: (what, batch, info) => new NotPositiveDefiniteError(what, batch, info),
  semidefinite: (what, batch, info) => new NotSemidefiniteError(what, batch, info),
  regular: (what, batch, info) => new SingularMatrixError(what, batch, info),
  converged: (what, batch, info) => new NoConvergenceError(what, batch, info),
};

/**
 * Waits for the infos of a call and throws for the first that is not 0.
 *
 * @throws LinalgError
 */
export async function checkInfos(
  what: string,
  infos: Tensor<'int32'>,
  meaning: InfoMeaning,
  { signal }: WorkOptions,
): Promise<void> {
  assertNotPreparing(what);
  const values = await infos.toTypedArray({ signal });
  const index = values.findIndex((info) => info !== 0);
  const info = values[index];
  if (info === undefined) return;
  const batch = indicesOf(index, infos.shape);
  if (info > 0) throw POSITIVE[meaning](what, batch, info);
  if (info === NOT_CONVERGED) throw new NoConvergenceError(what, batch, info);
  throw new NotFiniteError(what, batch);
}

/** The indices of an element in row-major order. */
function indicesOf(index: number, shape: readonly number[]): number[] {
  let rest = index;
  return shape.reduceRight<number[]>((indices, extent) => {
    indices.unshift(rest % extent);
    rest = Math.floor(rest / extent);
    return indices;
  }, []);
}
