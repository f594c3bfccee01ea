import {
  matmul,
  MercerError,
  qr,
  solveCholesky,
  solveLU,
  solveTriangular,
  type Tensor,
} from '@mercer/core';
import { Command } from 'commander';
import { CliError } from '../cli-error.js';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import { parseChoice } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { withFileOptions } from './with-file-options.js';
import { action, type CommonOptions } from './with-output.js';

type Computed = Tensor<FloatDType>;
type Side = (typeof SIDES)[number];
type Solver = (a: Computed, b: Computed, side: Side) => Promise<Computed>;

const SIDES = ['columns', 'rows'] as const;
const checked = { checkErrors: true } as const;

/** By the name of the factorisation. */
const SOLVERS = {
  cholesky: async (a, b, rightHandSides) =>
    (await solveCholesky(a, b, { rightHandSides, ...checked })).x,
  lu: async (a, b, rightHandSides) => (await solveLU(a, b, { rightHandSides, ...checked })).x,
  qr: async (a, b, side) => {
    const { q, r } = await qr(a, checked);
    const projected = await matmul(q, b, { transposeA: true, transposeB: side === 'rows' });
    const { x } = await solveTriangular(r, projected, { uplo: 'upper', ...checked });
    return side === 'rows' ? x.transpose() : x;
  },
} as const satisfies Record<string, Solver>;
type Method = keyof typeof SOLVERS;
const METHODS = ['cholesky', 'lu', 'qr'] as const satisfies readonly Method[];

interface SolveOptions extends CommonOptions, FileOptions {
  readonly method: Method;
  readonly rightHandSides: Side;
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
      )
      .option(
        '--right-hand-sides <axis>',
        `where B has them, and the result: ${SIDES.join(' or ')}`,
        parseChoice(SIDES),
        'columns',
      ),
    'where the solution goes (.npy)',
    'cpu (the default) or a GPU such as cuda:0',
  ).action(action(run));
}

async function run(output: Output, options: SolveOptions, args: string[]): Promise<void> {
  const { method, rightHandSides } = options;
  const [fileA = '', fileB = ''] = args;
  const placed = { device: 'cpu', ...options } as const;
  const summary = await inWordsOfTheCommand(() =>
    computeToFile(output, [fileA, fileB], placed, ([a, b]) =>
      SOLVERS[method](a, b, rightHandSides),
    ),
  );
  output.result({ ...summary, method }, () => renderFile(summary, `solution by ${method}`));
}

/** The library's advice names its option; here it is one of the command. */
async function inWordsOfTheCommand<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof MercerError)) throw error;
    const message = error.message.replace(/rightHandSides: '(\w+)'/, '--right-hand-sides $1');
    throw message === error.message ? error : new CliError(error.code, message);
  }
}
