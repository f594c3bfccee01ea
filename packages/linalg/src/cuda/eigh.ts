import { workOf } from '../options.js';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { mergeCodes, triangle, unpack } from './move.js';
import { needed } from './needed.js';
import { countOf, Scratch } from './scratch.js';

/** Eigenvalues and eigenvectors. */
export async function eigh(call: CudaCall<FieldsOf<'eigh'>>): Promise<void> {
  const { setting, args } = call;
  const { batchShape } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, values, vectors] = needed(args, 'a', 'values', 'vectors');
  const { infos } = args;
  using scratch = new Scratch(call);
  await infos.fill(0, workOf(call));
  const found = await spectrum(call, scratch, a, { uplo: triangle(args.upper), infos });
  await mergeCodes(call, infos, found.codes, scratch.count);
  await unpack(call, batchShape, found.values, values, infos);
  await unpack(call, batchShape, found.vectors, vectors, infos);
}
