import type { Enqueuing } from '@mercer/tensor/operation';
import {
  cusolver,
  type CudaStream,
  type DeviceRegion,
  type GetrfOptions,
} from '@mercer/cuda-runtime';
import type { Storage } from '@mercer/tensor';
import type { CudaCall } from './cuda-call.js';
import type { LuPlan } from './plan-lu.js';
import { placed, type Dense, type Scratch } from './scratch.js';
import { FACTOR_STREAMS, spread, type Lane } from './spread.js';

/** How square matrices are factored. */
export interface FactorMethod {
  readonly cholesky: boolean;
  readonly uplo: 'lower' | 'upper';
  /** Default: the matrices as they are, with int64 pivots. */
  readonly lu?: LuPlan | undefined;
}

const PIVOT_BYTES = { int32: 4, int64: 8 } as const;
const AS_THEY_ARE: LuPlan = { pivots: 'int64', transposed: false, exchange: 'library' };

/** Dense square matrices and their factors, which take their place. */
export class Factors {
  readonly matrices: Dense;
  /** One int32 for each matrix: 0, or as LAPACK's info. */
  readonly codes: Storage;
  /** n of the plan's type for each matrix with LU; a batched call of the library leaves int32. */
  readonly pivots: Storage | undefined;
  readonly #method: FactorMethod;
  readonly #lu: LuPlan;
  /** Solves say only that their arguments are right. */
  readonly #solveCodes: Storage;

  constructor(scratch: Scratch, matrices: Dense, method: FactorMethod) {
    this.matrices = matrices;
    this.codes = scratch.codes();
    this.#solveCodes = scratch.bytes(4 * scratch.count);
    this.#method = method;
    this.#lu = method.lu ?? AS_THEY_ARE;
    const pivotBytes = PIVOT_BYTES[this.#lu.pivots] * matrices.rows * scratch.count;
    this.pivots = method.cholesky ? undefined : scratch.bytes(pivotBytes);
  }

  /** The triangle that Cholesky factors. */
  get uplo(): 'lower' | 'upper' {
    return this.#method.uplo;
  }

  get touches(): Storage[] {
    const { matrices, codes, pivots } = this;
    return [matrices.storage, codes, this.#solveCodes, ...(pivots === undefined ? [] : [pivots])];
  }

  workspaceBytes(native: CudaStream): number {
    const { rows: n, dtype } = this.matrices;
    const leadingDimension = Math.max(1, n);
    if (n === 0) return 0;
    const { cholesky, uplo } = this.#method;
    const square = { dtype, rows: n, columns: n, leadingDimension };
    const { deviceBytes } = cholesky
      ? cusolver.potrfWorkspace(native, { dtype, uplo, n, leadingDimension })
      : cusolver.getrfWorkspace(native, { ...square, pivotType: this.#lu.pivots });
    return deviceBytes;
  }

  /** Launches of a factorisation and a solution, about: cuSOLVER of CUDA 13.0 took 32 for LU of order 520, 25 for Cholesky of 1030. */
  get launches(): number {
    return 4 + this.matrices.rows / (this.#method.cholesky ? 32 : 16);
  }

  /** Enqueues the factorisation of a lane's matrix. */
  factor({ stream, workspace, place }: Lane): void {
    const { rows: n, dtype } = this.matrices;
    if (n === 0) return;
    const a = placed(this.matrices, place);
    const info = place(this.codes);
    if (this.pivots === undefined) {
      cusolver.potrf(stream, { dtype, uplo: this.#method.uplo, n, a, workspace, info });
    } else {
      const square = { dtype, rows: n, columns: n, ...this.#pivotsOf(place(this.pivots)) };
      cusolver.getrf(stream, { ...square, a, workspace, info });
    }
  }

  /** Enqueues the solution with the factor of a lane's matrix, in the place of its right-hand sides. */
  solve({ stream, place }: Lane, sides: Dense): void {
    const { columns } = sides;
    const { rows: n, dtype } = this.matrices;
    if (n === 0 || columns === 0) return;
    const a = placed(this.matrices, place);
    const b = placed(sides, place);
    const info = place(this.#solveCodes);
    if (this.pivots === undefined) {
      cusolver.potrs(stream, { dtype, uplo: this.#method.uplo, n, columns, a, b, info });
    } else {
      const { transposed: transpose } = this.#lu;
      const factor = { dtype, n, transpose, a, ...this.#pivotsOf(place(this.pivots)) };
      cusolver.getrs(stream, { ...factor, columns, b, info });
    }
  }

  #pivotsOf(pivots: DeviceRegion): Required<Pick<GetrfOptions, 'pivots' | 'pivotType'>> {
    return { pivots, pivotType: this.#lu.pivots };
  }
}

/** What else is done with the matrices that are factored. */
export interface FactorOptions {
  /** Right-hand sides; the solutions take their place. */
  readonly sides?: Dense;
  /** Which matrices; default all. */
  readonly only?: (z: number) => boolean;
}

/** Factors every matrix, in its place. */
export function* factorAll(
  call: CudaCall,
  scratch: Scratch,
  factors: Factors,
  { sides, only }: FactorOptions = {},
): Enqueuing {
  yield* spread(call, scratch, {
    touches: sides === undefined ? factors.touches : [...factors.touches, sides.storage],
    streams: FACTOR_STREAMS,
    // Of some matrices again nothing is told.
    onProgress: only === undefined ? call.onProgress : undefined,
    workspaceBytes: (native) => factors.workspaceBytes(native),
    only,
    launches: factors.launches,
    enqueue: (lane) => {
      factors.factor(lane);
      if (sides !== undefined) factors.solve(lane, sides);
    },
  });
}

/** Solves with factors that are there. */
export function* solveAll(
  call: CudaCall,
  scratch: Scratch,
  factors: Factors,
  sides: Dense,
): Enqueuing {
  yield* spread(call, scratch, {
    touches: [...factors.touches, sides.storage],
    streams: FACTOR_STREAMS,
    workspaceBytes: () => 0,
    launches: factors.launches,
    enqueue: (lane) => {
      factors.solve(lane, sides);
    },
  });
}
