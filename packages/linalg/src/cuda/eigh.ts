import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { mergeCodes, triangle, unpack } from './move.js';
import { needed } from './needed.js';
import { clear, countOf, Scratch } from './scratch.js';

/** Eigenvalues and eigenvectors. */
export function* eigh(call: CudaCall<FieldsOf<'eigh'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, values, vectors] = needed(args, 'a', 'values', 'vectors');
  const { infos } = args;
  using scratch = new Scratch(call);
  clear(call, infos);
  const found = yield* spectrum(call, scratch, a, { uplo: triangle(args.upper), infos });
  yield* mergeCodes(call, infos, found.codes, scratch.count);
  yield* unpack(call, batchShape, found.values, values, infos);
  yield* unpack(call, batchShape, found.vectors, vectors, infos);
}
