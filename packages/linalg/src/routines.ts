import { defineRoutine } from './routine.js';

/*
 * The routines of the CPU's runtime. Fields stand in the order of the structs in cpu-runtime's native/linalg; the runtime
 * refuses parameters of another size.
 */

const solve = {
  a: 'read',
  b: 'read',
  x: 'write',
  factor: 'optional',
  infos: 'ints',
  upper: 'integer',
} as const;

const refined = {
  a: 'read',
  b: 'read',
  x: 'write',
  infos: 'ints',
  upper: 'integer',
  steps: 'integer',
} as const;

const product = {
  a: 'read',
  b: 'read',
  c: 'readwrite',
  alpha: 'number',
  beta: 'number',
} as const;

/** The third argument says that a routine needs LAPACK's iterations. */
export const routines = {
  solveCholesky: defineRoutine('solve_cholesky', solve),
  solveLU: defineRoutine('solve_lu', solve),
  refinedCholesky: defineRoutine('refined_cholesky', refined),
  refinedLU: defineRoutine('refined_lu', refined),
  triangularSolve: defineRoutine('triangular_solve', {
    a: 'read',
    b: 'read',
    x: 'write',
    infos: 'ints',
    upper: 'integer',
    transpose: 'integer',
    unitDiagonal: 'integer',
  }),
  cholesky: defineRoutine('cholesky', {
    a: 'read',
    factor: 'write',
    jitters: 'reals',
    infos: 'ints',
    upper: 'integer',
    attempts: 'integer',
    jitter: 'number',
  }),
  eigh: defineRoutine(
    'eigh',
    {
      a: 'read',
      values: 'write',
      vectors: 'write',
      infos: 'ints',
      upper: 'integer',
    },
    true,
  ),
  inverse: defineRoutine('inverse', {
    a: 'read',
    inverse: 'write',
    infos: 'ints',
    cholesky: 'integer',
    upper: 'integer',
  }),
  logdet: defineRoutine('logdet', {
    a: 'read',
    signs: 'reals',
    logs: 'reals',
    infos: 'ints',
    cholesky: 'integer',
    upper: 'integer',
  }),
  condition: defineRoutine('condition', {
    a: 'read',
    conditions: 'reals',
    infos: 'ints',
    cholesky: 'integer',
    upper: 'integer',
  }),
  qr: defineRoutine('qr', { a: 'read', q: 'write', r: 'write', infos: 'ints' }),
  svd: defineRoutine(
    'svd',
    {
      a: 'read',
      u: 'write',
      s: 'write',
      vh: 'write',
      infos: 'ints',
    },
    true,
  ),
  lstsq: defineRoutine(
    'lstsq',
    {
      a: 'read',
      b: 'read',
      x: 'write',
      singularValues: 'write',
      ranks: 'ints',
      infos: 'ints',
      tolerance: 'number',
    },
    true,
  ),
  gemm: defineRoutine('gemm', product),
  // A CPU computes in float32 whatever precision is asked for.
  gemmTf32: defineRoutine('gemm', product),
  gemmTf32x3: defineRoutine('gemm', product),
  kron: defineRoutine('kron', { a: 'read', b: 'read', c: 'write' }),
  eigenPower: defineRoutine(
    'eigen_power',
    {
      a: 'read',
      result: 'write',
      errors: 'reals',
      infos: 'ints',
      upper: 'integer',
      power: 'number',
      ridge: 'number',
      epsilon: 'number',
    },
    true,
  ),
  inverseRoot: defineRoutine('inverse_root', {
    a: 'read',
    result: 'write',
    errors: 'reals',
    infos: 'ints',
    upper: 'integer',
    root: 'integer',
    ridge: 'number',
  }),
};

/** A routine. How a GPU computes each is in `cuda/run-cuda.ts`, what stands for LAPACK where there is none in `fallback/`. */
export type RoutineName = keyof typeof routines;

/** A routine that a GPU computes too. An inverse root that ends by itself looks at numbers on the way, which a CPU does without waiting. */
export type CudaRoutineName = Exclude<RoutineName, 'inverseRoot'>;

/** Whether a GPU computes a routine too. */
export const isOnGpus = (name: RoutineName): name is CudaRoutineName => name !== 'inverseRoot';

/** The fields of a routine. */
export type FieldsOf<K extends RoutineName> = (typeof routines)[K]['fields'];

/** A routine that needs a LAPACK on the CPU. */
export type LapackRoutineName = {
  [K in RoutineName]: (typeof routines)[K]['needsLapack'] extends true ? K : never;
}[RoutineName];

/** Whether a routine needs a LAPACK on the CPU. */
export function needsLapack(name: RoutineName): name is LapackRoutineName {
  return routines[name].needsLapack;
}
