import { transposed } from '../operand.js';
import { workOf } from '../options.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { mergeCodes, unpack } from './move.js';
import { needed } from './needed.js';
import { countOf, Scratch } from './scratch.js';
import { singularParts } from './singular.js';

/** Singular value decompositions. */
export async function svd(call: CudaCall<FieldsOf<'svd'>>): Promise<void> {
  const { setting, args } = call;
  const { batchShape } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, u, s, vh] = needed(args, 'a', 'u', 's', 'vh');
  const { infos } = args;
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const parts = await singularParts(call, scratch, a, infos);
  await mergeCodes(call, infos, parts.codes, scratch.count);
  // a^T = u s vt means a = vt^T s u^T.
  const [left, right] = parts.flipped ? [transposed(vh), transposed(u)] : [u, vh];
  await unpack(call, batchShape, parts.u, left, infos);
  await unpack(call, batchShape, parts.values, s, infos);
  await unpack(call, batchShape, parts.vt, right, infos);
}
