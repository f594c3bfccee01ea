import { workOf } from '../options.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, unpack } from './move.js';
import { needed } from './needed.js';
import { multiply } from './product.js';
import { clear, countOf, Scratch } from './scratch.js';
import { singularParts } from './singular.js';

/** Least squares solutions from singular values: x = v diag(1 / s) u^T b. */
export async function lstsq(call: CudaCall<FieldsOf<'lstsq'>>): Promise<void> {
  const { setting, args, stream } = call;
  const { batchShape, dtype } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, b, x, singularValues] = needed(args, 'a', 'b', 'x', 'singularValues');
  const { infos, ranks, tolerance } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  await infos.fill(0, workOf(call));
  const sides = scratch.matrices(b.rows, b.columns);
  await pack(call, batchShape, b, sides, { infos });
  const { flipped, u, values, vt, codes } = await singularParts(call, scratch, a, infos);
  await mergeCodes(call, infos, codes, count);
  const few = values.rows;
  const reciprocals = scratch.matrices(few, 1);
  const inputs = { values: values.storage, reciprocals: reciprocals.storage, infos, ranks };
  await launch(call, kernels.singularReciprocals(dtype), inputs, { n: few, tolerance, count });
  const inner = scratch.matrices(few, sides.columns);
  const scaled = scratch.matrices(few, sides.columns);
  const solution = scratch.matrices(a.columns, sides.columns);
  // Without terms the products are zeros.
  clear(stream, setting.what, inner.storage);
  clear(stream, setting.what, solution.storage);
  multiply(call, { a: flipped ? vt : u, b: sides, c: inner, transposeA: !flipped });
  const pointers = { from: inner.storage, factors: reciprocals.storage, to: scaled.storage };
  const sizes = { rows: few, columns: sides.columns, byRows: 1, count };
  await launch(call, kernels.scale(dtype), pointers, sizes);
  multiply(call, { a: flipped ? u : vt, b: scaled, c: solution, transposeA: !flipped });
  await unpack(call, batchShape, solution, x, infos);
  await unpack(call, batchShape, values, singularValues, infos);
}
