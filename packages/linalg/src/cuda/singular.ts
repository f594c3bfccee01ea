import type { Enqueuing } from '@mercer/tensor/operation';
import { cusolver } from '@mercer/cuda-runtime';
import type { Storage, Tensor } from '@mercer/tensor';
import { regionOf } from '@mercer/tensor/cuda';
import { transposed, type MatrixOperand } from '../operand.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { pack } from './move.js';
import { placed, type Dense, type Scratch } from './scratch.js';
import { SPECTRAL_STREAMS, spread, type Lane } from './spread.js';

/** a = u diag(values) vt, or of the transposed matrices where those have more rows. */
export interface SingularParts {
  /** The matrices that were decomposed are the transposed ones. */
  readonly flipped: boolean;
  readonly u: Dense;
  /** k x 1, descending. */
  readonly values: Dense;
  readonly vt: Dense;
  readonly codes: Storage;
}

/** Decomposes matrices of any shape, those that are not finite replaced by the identity; see `spectrum`. */
export function* singularParts(
  call: CudaCall,
  scratch: Scratch,
  a: MatrixOperand,
  infos: Tensor<'int32'>,
): Enqueuing<SingularParts> {
  const { setting } = call;
  const { dtype, batchShape } = setting;
  const flipped = a.rows < a.columns;
  const from = flipped ? transposed(a) : a;
  const matrices = scratch.matrices(from.rows, from.columns);
  yield* pack(call, batchShape, from, matrices, { infos });
  const { rows, columns, count } = matrices;
  const guarded = { to: matrices.storage, infos };
  yield* launch(call, kernels.identity(dtype), guarded, { rows, columns, count });
  const u = scratch.matrices(rows, columns);
  const values = scratch.matrices(columns, 1);
  const vt = scratch.matrices(columns, columns);
  const codes = scratch.codes();
  const problem = (place: Lane['place']) => ({
    dtype,
    rows,
    columns,
    leftVectors: 'thin' as const,
    rightVectors: 'all' as const,
    a: placed(matrices, place),
    u: placed(u, place),
    vt: placed(vt, place),
    values: place(values.storage),
  });
  if (columns > 0) {
    yield* spread(call, scratch, {
      touches: [matrices, u, values, vt].map(({ storage }) => storage).concat([codes]),
      streams: SPECTRAL_STREAMS,
      onProgress: call.onProgress,
      workspaceBytes: (native) => cusolver.gesvdWorkspace(native, problem(regionOf)).deviceBytes,
      compute: ({ stream: native, workspace, place }) =>
        cusolver.gesvd(native, { ...problem(place), workspace, info: place(codes) }),
    });
  }
  return { flipped, u, values, vt, codes };
}
