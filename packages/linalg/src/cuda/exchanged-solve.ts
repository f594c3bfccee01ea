import type { Enqueuing } from '@mercer/tensor/operation';
import { cublas } from '@mercer/cuda-runtime';
import type { CudaCall } from './cuda-call.js';
import { factorAll, type Factors } from './factor.js';
import { kernels, launch } from './kernels.js';
import { placed, type Dense, type Scratch } from './scratch.js';
import { spread } from './spread.js';

/**
 * Factors a matrix and solves with it, the rows of the right-hand sides exchanged by a kernel of our own: the library's takes a
 * sixth of its solve for that.
 */
export function* exchangedSolve(
  call: CudaCall,
  scratch: Scratch,
  factors: Factors,
  sides: Dense,
): Enqueuing {
  yield* factorAll(call, scratch, factors);
  const { matrices, pivots } = factors;
  const { rows: n, dtype } = matrices;
  const { columns, count } = sides;
  if (n === 0 || columns === 0) return;
  const pointers = { sides: sides.storage, pivots };
  yield* launch(call, kernels.exchangeRows(dtype), pointers, { n, columns, count });
  yield* spread(call, scratch, {
    touches: [matrices.storage, sides.storage],
    streams: 1,
    workspaceBytes: () => 0,
    launches: 4 + n / 8,
    enqueue: ({ stream, place }) => {
      const operands = { a: placed(matrices, place), b: placed(sides, place) };
      const sizes = { dtype, rows: n, columns, side: 'left', transpose: false } as const;
      cublas.trsm(stream, { ...sizes, uplo: 'lower', unitDiagonal: true, ...operands });
      cublas.trsm(stream, { ...sizes, uplo: 'upper', unitDiagonal: false, ...operands });
    },
  });
}
