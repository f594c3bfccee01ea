import { matmul, qr, solveCholesky, solveLU, triangularSolve, type Tensor } from '@mercer/core';
import { Command } from 'commander';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import { parseChoice } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

type Computed = Tensor<FloatDType>;
type Solver = (a: Computed, b: Computed) => Promise<Computed>;

const checked = { checkErrors: true } as const;

/** By the name of the factorisation. */
const SOLVERS = {
  cholesky: async (a, b) => (await solveCholesky(a, b, checked)).x,
  lu: async (a, b) => (await solveLU(a, b, checked)).x,
  qr: async (a, b) => {
    const { q, r } = await qr(a, checked);
    const projected = await matmul(q, b, { transposeA: true });
    return (await triangularSolve(r, projected, { uplo: 'upper', ...checked })).x;
  },
} as const satisfies Record<string, Solver>;
type Method = keyof typeof SOLVERS;
const METHODS = ['cholesky', 'lu', 'qr'] as const satisfies readonly Method[];

interface SolveOptions extends CommonOptions, FileOptions {
  readonly method: Method;
}

/** `mercer solve A.npy B.npy --method cholesky --out X.npy`: the solution of linear systems. */
export function solveCommand(): Command {
  return withFileOptions(
    new Command('solve')
      .argument('<A>', 'a .npy file of a matrix (optionally batched), or file.npz:name')
      .argument('<B>', 'the right-hand sides')
      .option(
        '--method <name>',
        'cholesky for symmetric positive definite A, lu for any square A, qr also for least squares with more rows than columns',
        parseChoice(METHODS),
        'lu',
      ),
    'where the solution goes (.npy)',
    'cpu (the default) or a GPU such as cuda:0',
  ).action(action(run));
}

async function run(output: Output, options: SolveOptions, args: string[]): Promise<void> {
  const { method } = options;
  const [fileA = '', fileB = ''] = args;
  const placed = { device: 'cpu', ...options } as const;
  const summary = await computeToFile(output, [fileA, fileB], placed, ([a, b]) =>
    SOLVERS[method](a, b),
  );
  output.result({ ...summary, method }, () => renderFile(summary, `solution by ${method}`));
}
