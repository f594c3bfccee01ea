import { availableBytes, waited, type Enqueuing } from '@mercer/tensor/operation';
import { cusolver } from '@mercer/cuda-runtime';
import { dtypeBytes, type Storage, type Tensor } from '@mercer/tensor';
import { nativeStream, regionOf, runNative, type NativeStreams } from '@mercer/tensor/cuda';
import type { MatrixOperand } from '../operand.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { pack } from './move.js';
import { at, element, placed, type Dense, type Scratch } from './scratch.js';
import { SPECTRAL_STREAMS, spread, type Lane } from './spread.js';
import { solverStreams } from './streams.js';

/** Up to this order the library's batched routine is ahead of matrix after matrix (docs/performance/linear-algebra.md). */
const BATCHED_ORDER = 1024;
/** The share of free memory that one batched call may work in. */
const SHARE = 0.25;

/** Eigenvectors, in the matrices' place, and eigenvalues. */
export interface Spectrum {
  readonly vectors: Dense;
  /** n x 1. */
  readonly values: Dense;
  readonly codes: Storage;
}

/**
 * Decomposes symmetric matrices. cuSOLVER waits inside these calls, so they run on threads of its streams; matrices that are not
 * finite (infos[z] = -1 then) are replaced by the identity, since no iteration should see them.
 */
export function* spectrum(
  call: CudaCall,
  scratch: Scratch,
  a: MatrixOperand,
  { uplo, infos }: { readonly uplo: 'lower' | 'upper'; readonly infos: Tensor<'int32'> },
): Enqueuing<Spectrum> {
  const { setting } = call;
  const { dtype, batchShape } = setting;
  const vectors = scratch.matrices(a.rows, a.columns);
  const values = scratch.matrices(a.rows, 1);
  const codes = scratch.codes();
  yield* pack(call, batchShape, a, vectors, { part: uplo, mirrored: true, infos });
  const { rows, columns, count } = vectors;
  const pointers = { to: vectors.storage, infos };
  yield* launch(call, kernels.identity(dtype), pointers, { rows, columns, count });
  const result = { vectors, values, codes };
  if (rows === 0 || count === 0) return result;
  if (count > 1 && rows <= BATCHED_ORDER) yield* inBatches(call, scratch, result, uplo);
  else yield* oneByOne(call, scratch, result, uplo);
  return result;
}

function* oneByOne(
  call: CudaCall,
  scratch: Scratch,
  { vectors, values, codes }: Spectrum,
  uplo: 'lower' | 'upper',
): Enqueuing {
  const { dtype, rows: n } = vectors;
  const problem = (place: Lane['place']) => ({
    dtype,
    uplo,
    n,
    vectors: true,
    a: placed(vectors, place),
    values: place(values.storage),
  });
  yield* spread(call, scratch, {
    touches: [vectors.storage, values.storage, codes],
    streams: SPECTRAL_STREAMS,
    onProgress: call.onProgress,
    workspaceBytes: (native) => cusolver.syevdWorkspace(native, problem(regionOf)).deviceBytes,
    compute: ({ stream: native, workspace, place }) =>
      cusolver.syevd(native, { ...problem(place), workspace, info: place(codes) }),
  });
}

/** As many matrices at once as memory has room for. */
function* inBatches(
  call: CudaCall,
  scratch: Scratch,
  { vectors, values, codes }: Spectrum,
  uplo: 'lower' | 'upper',
): Enqueuing {
  const { setting, stream, signal, onProgress } = call;
  const { device, count } = scratch;
  const { dtype, rows: n } = vectors;
  const problem = (first: number, batch: number) => ({
    dtype,
    uplo,
    n,
    batch,
    vectors: true,
    a: at(vectors, first),
    values: element(values.storage, first * n, dtypeBytes(dtype)),
  });
  const beside = yield* solverStreams(device, 1);
  const native = nativeStream(beside[0] ?? stream);
  const bytesFor = (batch: number): number =>
    cusolver.syevBatchedWorkspace(native, problem(0, batch)).deviceBytes;
  const most = availableBytes(device) * SHARE;
  let size = count;
  while (size > 1 && bytesFor(size) > most) size = Math.ceil(size / 2);
  const workspace = scratch.bytes(Math.max(256, bytesFor(size)));
  const writes = [vectors.storage, values.storage, codes, workspace];
  const work = async (streams: NativeStreams): Promise<void> => {
    for (let first = 0; first < count; first += size) {
      signal?.throwIfAborted();
      const batch = Math.min(size, count - first);
      await cusolver.syevBatched(streams.beside[0] ?? streams.stream, {
        ...problem(first, batch),
        workspace: regionOf(workspace),
        infos: element(codes, first, 4),
      });
      onProgress?.({ done: first + batch, total: count });
    }
  };
  yield* waited(() => runNative(stream, { what: setting.what, writes, beside }, work));
}
