import type { Enqueuing } from '@mercer/tensor/operation';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { mergeCodes, triangle, unpack } from './move.js';
import { clear, Scratch } from './scratch.js';

/** Eigenvalues and eigenvectors. */
export function* eigh(call: CudaCall<FieldsOf<'eigh'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape } = setting;
  const { a, values, vectors, infos } = args;
  using scratch = new Scratch(call);
  clear(call, infos);
  const found = yield* spectrum(call, scratch, a, { uplo: triangle(args.upper), infos });
  yield* mergeCodes(call, infos, found.codes, scratch.count);
  yield* unpack(call, batchShape, found.values, values, infos);
  yield* unpack(call, batchShape, found.vectors, vectors, infos);
}
