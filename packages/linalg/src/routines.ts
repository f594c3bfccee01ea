import { defineRoutine } from './routine.js';

/*
 * The routines of the CPU's runtime. Fields stand in the order of the structs in cpu-runtime's native/linalg; the runtime
 * refuses parameters of another size.
 */

const solve = {
  a: 'read',
  b: 'read',
  x: 'write',
  factor: 'write',
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

/** Iterations of LAPACK's. */
const spectral = { needsLapack: true };

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
    spectral,
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
    spectral,
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
    spectral,
  ),
  gemm: defineRoutine('gemm', {
    a: 'read',
    b: 'read',
    c: 'readwrite',
    alpha: 'number',
    beta: 'number',
  }),
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
    spectral,
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
