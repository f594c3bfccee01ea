import { isTensor, tensor, type Tensor } from '@mercer/tensor';
import {
  assertTensor,
  isTraced,
  pending,
  Traced,
  type KnownValue,
  type Share,
  type Value,
} from '@mercer/tensor/operation';
import type { PairwiseInput } from './place.js';

/** A gradient by name as a share: computed where it is wanted, and on the device of what it is taken by. */
export const shareOf =
  <N extends string>(
    gradients: (wrt: N) => Promise<Readonly<Record<string, Tensor>>>,
    wrt: N,
    by?: unknown,
  ): Share =>
  () =>
    pending(
      gradients(wrt).then((found) => {
        const gradient = found[wrt] as Tensor;
        const home = isTensor(by) || isTraced(by) ? (by as Tensor).device : gradient.device;
        return gradient.device === home ? gradient : gradient.to(home);
      }),
    );

/** Rows as a tensor beside the cotangent: host data has the dtype that it was placed with. */
export function rowsLike(rows: PairwiseInput, cotangent: Value): Tensor {
  if (isTensor(rows) || isTraced(rows)) return rows as Tensor;
  const { dtype, device } = cotangent as KnownValue;
  return tensor(rows, { dtype, device }) as unknown as Tensor;
}

/** @throws MercerError for what is neither a tensor nor a traced value */
export function assertValue(value: unknown, what: string): void {
  if (!isTraced(value)) assertTensor(value, what);
}

/** What a traced value stands for in the end: of a mapped one the first example, which has its shape. */
export function primalOf(value: unknown, made: Tensor[]): unknown {
  if (!(value instanceof Traced)) return value;
  const primal = primalOf(value.primal, made) as Tensor;
  if (value.trace.hiddenAxes === undefined) return primal;
  const first = primal.slice(0);
  made.push(first);
  return first;
}
