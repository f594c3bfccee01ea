import type { Enqueuing } from '@mercer/tensor/operation';
import { transposed } from '../operand.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { mergeCodes, unpack } from './move.js';
import { clear, Scratch } from './scratch.js';
import { singularParts } from './singular.js';

/** Singular value decompositions. */
export function* svd(call: CudaCall<FieldsOf<'svd'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const { a, u, s, vh, infos } = args;
  using scratch = new Scratch(call);
  clear(call, infos);
  const parts = yield* singularParts(call, scratch, a, infos);
  yield* mergeCodes(call, infos, parts.codes, scratch.count);
  // a^T = u s vt means a = vt^T s u^T.
  const [left, right] = parts.flipped ? [transposed(vh), transposed(u)] : [u, vh];
  yield* unpack(call, batchShape, parts.u, left, infos);
  yield* unpack(call, batchShape, parts.values, s, infos);
  yield* unpack(call, batchShape, parts.vt, right, infos);
}
