import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, triangle, unpack } from './move.js';
import { multiply } from './product.js';
import { clear, Scratch } from './scratch.js';

/** The info of an iteration that did not end. */
const NOT_CONVERGED = -2;

/** V diag(w^power) V^T. */
export function* eigenPower(call: CudaCall<FieldsOf<'eigenPower'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, result, infos, errors, power, ridge, epsilon } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  clear(call, infos);
  const { vectors, values, codes } = yield* spectrum(call, scratch, a, {
    uplo: triangle(args.upper),
    infos,
  });
  yield* mergeCodes(call, infos, codes, count, NOT_CONVERGED);
  const n = vectors.rows;
  const inputs = { values: values.storage, errors, infos };
  const numbers = { n, power, ridge, epsilon, count };
  yield* launch(call, kernels.eigenPowers(dtype), inputs, numbers);
  const scaled = scratch.matrices(n, n);
  const product = scratch.matrices(n, n);
  const pointers = { from: vectors.storage, factors: values.storage, to: scaled.storage };
  const sizes = { rows: n, columns: n, byRows: 0, count };
  yield* launch(call, kernels.scale(dtype), pointers, sizes);
  multiply(call, { a: scaled, b: vectors, c: product, transposeB: true });
  yield* unpack(call, batchShape, product, result, infos);
}
