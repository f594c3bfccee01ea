import type { PairwiseDType } from '@mercer/kernels';
import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { assert, expect } from 'vitest';
import { normalValues } from './cdist-reference.test-support.js';
import {
  referenceElement,
  type ReferenceBatch,
  type ReferenceOperands,
} from './weighted-differences-reference.test-support.js';
import { UNIT } from './matrices.test-support.js';

/** The name of an input. */
export type Name = keyof ReferenceOperands;
/** The inputs, in their order. */
export const NAMES: readonly Name[] = ['a', 'b', 'c', 'd'];

/** Sizes of a case; `own` names the operands that have a batch axis of extent `batch`. */
export interface Sizes {
  readonly m: number;
  readonly n: number;
  readonly o: number;
  readonly k: number;
  readonly batch?: number;
  readonly own?: readonly Name[];
}

/** Normal values of a case. */
export function operandsOf(
  { m, n, o, k, batch = 1, own = [] }: Sizes,
  seed: number,
): ReferenceOperands {
  const make = (name: Name, rows: number, columns: number): ReferenceBatch => {
    const count = own.includes(name) ? batch : 1;
    const values = normalValues(count * rows * columns, 10 * seed + NAMES.indexOf(name));
    return { batch: count, rows, columns, values };
  };
  return { a: make('a', k, m), b: make('b', n, k), c: make('c', o, k), d: make('d', n, m) };
}

/** Uploads an operand with every line padded, as a matrix where it has no batch. */
async function upload(
  { batch, rows, columns, values }: ReferenceBatch,
  dtype: PairwiseDType,
  device: Device,
  { pad = 0, ranked = false }: { readonly pad?: number; readonly ranked?: boolean } = {},
): Promise<Tensor<PairwiseDType>> {
  const padded = new Float64Array(batch * rows * (columns + pad)).fill(NaN);
  for (let i = 0; i < batch * rows; i++) {
    padded.set(values.subarray(i * columns, (i + 1) * columns), i * (columns + pad));
  }
  const shape = [batch, rows, columns + pad];
  const whole = await tensor(padded, { shape, dtype, device });
  const view = whole.slice(null, null, [0, columns]);
  return batch === 1 && !ranked ? view.slice(0) : view;
}

/** The inputs of a call. */
export type Uploaded = readonly [
  a: Tensor<PairwiseDType>,
  b: Tensor<PairwiseDType>,
  c: Tensor<PairwiseDType>,
  d: Tensor<PairwiseDType>,
];

/** Uploads all operands, every line padded by `pad`; `ranked` gives each a batch axis. */
export async function uploadAll(
  operands: ReferenceOperands,
  dtype: PairwiseDType,
  device: Device,
  options: { readonly pad?: number; readonly ranked?: boolean } = {},
): Promise<Uploaded> {
  const [a, b, c, d] = await Promise.all(
    NAMES.map((name) => upload(operands[name], dtype, device, options)),
  );
  return [a, b, c, d] as unknown as Uploaded;
}

/** Compares a result (..., O, N, M) with the oracle, every `step`th element; returns the largest error. */
export async function expectSums(
  result: Tensor,
  operands: ReferenceOperands,
  norms: number | readonly number[],
  step = 1,
): Promise<number> {
  const dtype = result.dtype === 'float64' ? 'float64' : 'float32';
  const actual = (await result.toTypedArray()) as Float32Array | Float64Array;
  const [o, n, m] = result.shape.slice(-3) as [number, number, number];
  // The oracle itself is float64: against float64 results its own rounding counts as well.
  expect(actual.length).toBe(result.shape.reduce((count, extent) => count * extent, 1));
  const u = UNIT[dtype] * (dtype === 'float64' ? 2 : 1);
  let largest = 0;
  for (let i = 0; i < actual.length; i += step) {
    const rest = Math.floor(i / m);
    const place = [Math.floor(rest / n / o), Math.floor(rest / n) % o, rest % n, i % m] as const;
    const p = typeof norms === 'number' ? norms : (norms[place[0]] ?? NaN);
    const { value, bound } = referenceElement(operands, place, p);
    const error = Math.abs((actual[i] ?? NaN) - value);
    if (!(error <= bound * u)) {
      assert.fail(
        `p=${p} [${place.join(', ')}]: ${actual[i]}, expected ${value} within ${bound * u}`,
      );
    }
    largest = Math.max(largest, error);
  }
  return largest;
}
