import type { Enqueuing } from '@mercer/tensor/operation';
import { cusolver } from '@mercer/cuda-runtime';
import { regionOf } from '@mercer/tensor/cuda';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, unpack } from './move.js';
import { clear, placed, Scratch } from './scratch.js';
import { FACTOR_STREAMS, spread, type Lane } from './spread.js';

/** QR factors: Householder's, and Q as what they make of the identity. */
export function* qr(call: CudaCall<FieldsOf<'qr'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, q, r, infos } = args;
  using scratch = new Scratch(call);
  const { count } = scratch;
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  yield* pack(call, batchShape, a, matrices, { infos });
  const few = Math.min(a.rows, a.columns);
  const left = scratch.matrices(a.rows, few);
  const sizes = { rows: left.rows, columns: few, count };
  yield* launch(call, kernels.identity(dtype), { to: left.storage }, sizes);
  if (few > 0) {
    const tau = scratch.matrices(few, 1);
    const codes = scratch.codes();
    const applied = scratch.codes();
    const { rows, columns } = matrices;
    const shape = { dtype, rows, columns, leadingDimension: rows };
    const product = (place: Lane['place']) => ({
      dtype,
      side: 'left' as const,
      rows,
      columns: few,
      reflectors: few,
      a: placed(matrices, place),
      c: placed(left, place),
      tau: place(tau.storage),
    });
    yield* spread(call, scratch, {
      touches: [matrices.storage, left.storage, tau.storage, codes, applied],
      streams: FACTOR_STREAMS,
      onProgress: call.onProgress,
      workspaceBytes: (native) =>
        Math.max(
          cusolver.geqrfWorkspace(native, shape).deviceBytes,
          cusolver.ormqrWorkspace(native, product(regionOf)).deviceBytes,
        ),
      launches: 8 + few / 8,
      enqueue: ({ stream: native, workspace, place }) => {
        const { a: own, tau: factors } = product(place);
        const info = place(codes);
        cusolver.geqrf(native, { dtype, rows, columns, a: own, tau: factors, workspace, info });
        cusolver.ormqr(native, { ...product(place), workspace, info: place(applied) });
      },
    });
    yield* mergeCodes(call, infos, codes, count);
  }
  yield* unpack(call, batchShape, left, q, infos);
  yield* unpack(call, batchShape, matrices, r, infos, { part: 'upper' });
}
