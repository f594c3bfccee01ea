import { matmul, qr, solveCholesky, solveLU, solveTriangular, type Tensor } from '@mercer/core';
import { Command } from 'commander';
import { CliError, usageError } from '../cli-error.js';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import { collectText, parseAssignment } from '../options/parse-assignment.js';
import { parseChoice, parseCount, parseNonNegative } from '../options/parse-option.js';
import type { Output } from '../output/output.js';
import { PRECONDITIONERS, solveFormula, type FormulaSystem } from '../solve/solve-formula.js';
import { IN_FILE, OUT_FILE, withFileOptions } from './with-file-options.js';
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

interface SolveOptions extends CommonOptions, FileOptions, Partial<FormulaSystem> {
  readonly out: string;
  readonly method?: Method;
  readonly rightHandSides?: Side;
}

/** What only one of the two kinds of systems takes. */
const OF_MATRICES = ['method', 'rightHandSides'] as const;
const OF_FORMULAS = [
  'alias',
  'arg',
  'unknown',
  'alpha',
  'rtol',
  'maxIterations',
  'preconditioner',
  'rank',
] as const;

/**
 * `mercer solve A.npy B.npy --method cholesky --out X.npy`: the solution of linear systems; with `--formula` of (K + alpha I) x = b, whose matrix K is
 * not stored.
 */
export function solveCommand(): Command {
  return withFileOptions(
    new Command('solve')
      .argument(
        '<files...>',
        `A and B, each a matrix (optionally batched), with --formula the right-hand sides B alone; ${IN_FILE}`,
      )
      .option(
        '--method <name>',
        'cholesky for symmetric positive definite A, lu (the default) for any square A, qr also for least squares with more rows than columns',
        parseChoice(METHODS),
      )
      .option(
        '--right-hand-sides <axis>',
        `where B has them, and the result: ${SIDES.join(' (the default) or ')}`,
        parseChoice(SIDES),
      )
      .option(
        '--formula <text>',
        'instead of A: the entries of a symmetric positive definite K that is not stored, such as Exp(-SqDist(x,y)), or with --unknown its terms; (K + alpha I) x = b is solved by conjugate gradients',
      )
      .option(
        '--unknown <name>',
        "the formula is linear in this alias, as KeOps' KernelSolve has it: Exp(-SqDist(x,y))*b with --alias 'b=Vj(1)'; B is its right-hand side",
      )
      .option('--alias <text>', "an input of the formula: 'x=Vi(3)', as in reduce", collectText)
      .option('--arg <name=value>', 'its data: a file, or numbers for a Pm', parseAssignment)
      .option('--alpha <number>', 'the multiple of the identity; 1e-10', parseNonNegative)
      .option(
        '--rtol <number>',
        'done at this residual, by the norm of b; 1e-6, in float32 1e-4',
        parseNonNegative,
      )
      .option('--max-iterations <count>', 'ten times the number of unknowns', parseCount)
      .option('--preconditioner <name>', PRECONDITIONERS.join(', '), parseChoice(PRECONDITIONERS))
      .option('--rank <count>', 'of pivoted-cholesky, nystrom and nystrom-columns', parseCount),
    `where the solution goes: ${OUT_FILE}`,
    'cpu (the default) or a GPU such as cuda:0',
  ).action(action(run));
}

async function run(output: Output, options: SolveOptions, args: string[]): Promise<void> {
  const { formula } = options;
  const stranger = (formula === undefined ? OF_FORMULAS : OF_MATRICES).find(
    (name) => options[name] !== undefined,
  );
  if (stranger !== undefined) {
    const flag = `--${stranger.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw usageError(
      formula === undefined
        ? `${flag} is of systems whose matrix is a formula. Add --formula, or leave it out.`
        : `${flag} is of stored matrices, and --formula is solved by conjugate gradients, with right-hand sides in columns. Leave one of them out.`,
    );
  }
  if (args.length !== (formula === undefined ? 2 : 1)) {
    throw usageError(
      formula === undefined
        ? `solve takes two files, A and B, and ${args.length} are given. Name both, or give A as a --formula.`
        : `with --formula solve takes one file, the right-hand sides, and ${args.length} are given. Name it alone.`,
    );
  }
  if (formula !== undefined) {
    await solveFormula(output, args[0] ?? '', { ...options, formula });
    return;
  }
  const { method = 'lu', rightHandSides = 'columns' } = options;
  const [fileA = '', fileB = ''] = args;
  const placed = { device: 'cpu', ...options } as const;
  const summary = await computeToFile(output, [fileA, fileB], placed, async ([a, b]) => {
    checkSides(a, b, rightHandSides);
    return SOLVERS[method](a, b, rightHandSides);
  });
  output.result({ ...summary, method }, () => renderFile(summary, `solution by ${method}`));
}

/** @throws CliError SHAPE_MISMATCH where B has its right-hand sides the other way round, or others than A has rows */
function checkSides(a: Computed, b: Computed, side: Side): void {
  if (a.rank < 2 || b.rank < 2) return;
  const rows = a.shape.at(-2);
  const [own, other] = side === 'columns' ? [-2, -1] : [-1, -2];
  if (b.shape.at(own) === rows) return;
  const fits = b.shape.at(other) === rows;
  const names = { columns: 'rows', rows: 'columns' } as const;
  throw new CliError(
    'SHAPE_MISMATCH',
    `B is ${b.shape.join(' x ')}, and A ${a.shape.join(' x ')}: with right-hand sides in ${side} B has ${rows} ${names[side]}. ` +
      (fits
        ? `They are in ${names[side]}: add --right-hand-sides ${names[side]}.`
        : `Right-hand sides in ${names[side]} are said with --right-hand-sides ${names[side]}.`),
  );
}
