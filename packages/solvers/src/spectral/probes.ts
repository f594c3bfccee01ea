import { lt, select, variable } from '@mercer/formula';
import { map, random, type Tensor } from '@mercer/tensor';
import type { LinearOperator } from '../operators/linear-operator.js';

const SIGN = select(lt(variable('drawn'), 0.5), -1, 1);

/** Random signs (N, count): of all vectors with independent elements those whose quadratic forms vary least. */
export async function signs(
  { shape: [n], dtype, device }: LinearOperator,
  count: number,
  key: random.RandomKey,
): Promise<Tensor> {
  using drawn = await random.uniform([n, count], { key, dtype, device });
  return await map(SIGN, { drawn }, { dtype });
}

/** The mean of independent estimates, and its standard error. */
export function meanOf(estimates: readonly number[]): {
  readonly mean: number;
  readonly standardError: number;
} {
  const count = estimates.length;
  const mean = estimates.reduce((total, one) => total + one, 0) / count;
  // of any size, and of any number of estimates
  const deviation = estimates.reduce((total, one) => Math.hypot(total, one - mean), 0);
  return { mean, standardError: deviation / Math.sqrt((count - 1) * count) };
}
