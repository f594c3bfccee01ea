import type { routines } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { spectrum } from './eigen.js';
import { mergeCodes, triangle, unpack } from './move.js';
import { needed } from './needed.js';
import { countOf, Scratch } from './scratch.js';

/** Eigenvalues and eigenvectors. */
export async function eigh(call: CudaCall<typeof routines.eigh.fields>): Promise<void> {
  const { setting, args, stream } = call;
  const { batchShape } = setting;
  if (countOf(batchShape) === 0) return;
  const [a, values, vectors] = needed(args, 'a', 'values', 'vectors');
  const { infos } = args;
  using scratch = new Scratch(call);
  await infos.fill(0, { stream });
  const found = await spectrum(call, scratch, a, { uplo: triangle(args.upper), infos });
  await mergeCodes(stream, infos, found.codes, scratch.count);
  await unpack(stream, batchShape, found.values, values, infos);
  await unpack(stream, batchShape, found.vectors, vectors, infos);
}
