import type { Enqueuing } from '@mercer/tensor/operation';
import { cublas } from '@mercer/cuda-runtime';
import type { FieldsOf } from '../routines.js';
import type { CudaCall } from './cuda-call.js';
import { kernels, launch } from './kernels.js';
import { mergeCodes, pack, triangle, unpack } from './move.js';
import { clear, placed, Scratch } from './scratch.js';
import { FACTOR_STREAMS, spread } from './spread.js';

/** Solutions with triangular matrices. */
export function* triangularSolve(call: CudaCall<FieldsOf<'triangularSolve'>>): Enqueuing {
  const { setting, args } = call;
  const { batchShape, dtype } = setting;
  const { a, b, x, infos } = args;
  const uplo = triangle(args.upper);
  const [transpose, unitDiagonal] = [args.transpose !== 0, args.unitDiagonal !== 0];
  using scratch = new Scratch(call);
  clear(call, infos);
  const matrices = scratch.matrices(a.rows, a.columns);
  const sides = scratch.matrices(b.rows, b.columns);
  yield* pack(call, batchShape, a, matrices, { part: uplo, infos });
  yield* pack(call, batchShape, b, sides);
  if (!unitDiagonal) {
    const codes = scratch.codes();
    const sizes = { n: a.rows, count: scratch.count };
    const pointers = { matrices: matrices.storage, codes };
    yield* launch(call, kernels.diagonalZeros(dtype), pointers, sizes);
    yield* mergeCodes(call, infos, codes, scratch.count);
  }
  const { rows, columns } = sides;
  if (rows > 0 && columns > 0) {
    yield* spread(call, scratch, {
      touches: [matrices.storage, sides.storage],
      streams: FACTOR_STREAMS,
      onProgress: call.onProgress,
      workspaceBytes: () => 0,
      launches: 2 + rows / 16,
      enqueue: ({ stream: native, place }) => {
        const operands = { a: placed(matrices, place), b: placed(sides, place) };
        const how = { side: 'left', uplo, transpose, unitDiagonal } as const;
        cublas.trsm(native, { dtype, rows, columns, ...how, ...operands });
      },
    });
  }
  yield* unpack(call, batchShape, sides, x, infos);
}
