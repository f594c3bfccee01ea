import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { batchScalars, strideScalars } from './move.js';
import { countOf } from './scratch.js';

/** Kronecker products. */
export function* kron(call: CudaCall<FieldsOf<'kron'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const count = countOf(batchShape);
  const { a, b, c } = args;
  if (count * c.rows * c.columns === 0) return;
  const pointers = { a: a.memory, b: b.memory, c: c.memory };
  const sizes = { p: a.rows, q: a.columns, r: b.rows, s: b.columns, count };
  yield* launch(call, kernels.kron(dtype), pointers, {
    ...sizes,
    ...strideScalars({ a, b, c }),
    ...batchScalars(batchShape),
  });
}
