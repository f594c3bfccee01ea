import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, unpack } from './move.js';
import { multiply } from './product.js';
import { clear, Scratch } from './scratch.js';
import { singularParts } from './singular.js';

/** Least squares solutions from singular values: x = v diag(1 / s) u^T b. */
export function* lstsq(call: CudaCall<FieldsOf<'lstsq'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, b, x, singularValues, infos, ranks, tolerance } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  clear(call, infos);
  const sides = scratch.matrices(b.rows, b.columns);
  yield* pack(call, batchShape, b, sides, { infos });
  const { flipped, u, values, vt, codes } = yield* singularParts(call, scratch, a, infos);
  yield* mergeCodes(call, infos, codes, count);
  const few = values.rows;
  const reciprocals = scratch.matrices(few, 1);
  const inputs = { values: values.storage, reciprocals: reciprocals.storage, infos, ranks };
  yield* launch(call, kernels.singularReciprocals(dtype), inputs, { n: few, tolerance, count });
  const inner = scratch.matrices(few, sides.columns);
  const scaled = scratch.matrices(few, sides.columns);
  const solution = scratch.matrices(a.columns, sides.columns);
  // Without terms the products are zeros.
  clear(call, inner.storage);
  clear(call, solution.storage);
  multiply(call, { a: flipped ? vt : u, b: sides, c: inner, transposeA: !flipped });
  const pointers = { from: inner.storage, factors: reciprocals.storage, to: scaled.storage };
  const sizes = { rows: few, columns: sides.columns, byRows: 1, count };
  yield* launch(call, kernels.scale(dtype), pointers, sizes);
  multiply(call, { a: flipped ? u : vt, b: scaled, c: solution, transposeA: !flipped });
  yield* unpack(call, batchShape, solution, x, infos);
  yield* unpack(call, batchShape, values, singularValues, infos);
}
