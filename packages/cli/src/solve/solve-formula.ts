import {
  cg,
  formula as language,
  jacobi,
  MercerError,
  nystrom,
  pivotedCholesky,
  random,
  type IterativeSolution,
  type LinearOperator,
} from '@mercer/core';
import { CliError, usageError } from '../cli-error.js';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import type { Assignment } from '../options/parse-assignment.js';
import type { Output } from '../output/output.js';
import { describeReduction } from '../reduce/describe-reduction.js';
import { isRows, matchArguments } from '../reduce/match-arguments.js';
import { placeArguments } from '../reduce/place-arguments.js';
import { formulaOperator } from './formula-operator.js';

/** What `--preconditioner` takes. */
export const PRECONDITIONERS = ['none', 'jacobi', 'pivoted-cholesky', 'nystrom'] as const;

type PreconditionerChoice = (typeof PRECONDITIONERS)[number];

/** Options of a system whose matrix is a formula. */
export interface FormulaSystem extends FileOptions {
  readonly formula: string;
  readonly alias?: readonly string[];
  readonly arg?: readonly Assignment[];
  readonly alpha?: number;
  readonly rtol?: number;
  readonly maxIterations?: number;
  readonly preconditioner?: PreconditionerChoice;
  readonly rank?: number;
}

/** Solves (K + alpha I) x = b by conjugate gradients, with the matrix K of a formula, which is not stored. */
export async function solveFormula(
  output: Output,
  fileB: string,
  options: FormulaSystem,
): Promise<void> {
  const { formula, alpha = 1e-10, rtol, maxIterations } = options;
  const { preconditioner: name = 'none', rank } = options;
  checkPreconditioner(options, alpha);
  if (language.isReductionText(formula)) {
    throw usageError(
      `--formula '${formula}' is a whole reduction. Give the formula of the matrix's entries alone, such as Exp(-SqDist(x,y)).`,
    );
  }
  const described = describeReduction({ formula, alias: options.alias ?? [] });
  const given = matchArguments(described, options.arg ?? []);
  const files = [fileB, ...given.filter(isRows).map(({ file }) => file)];
  let found: IterativeSolution<FloatDType> | undefined;
  const summary = await computeToFile(output, files, options, async ([b, ...rows], device) => {
    const tensors = await placeArguments(given, rows, { device, dtype: options.dtype });
    return await inWordsOfTheCommand(formula, async () => {
      if (b === undefined) throw new Error('the right-hand sides have been read');
      const kernel = formulaOperator(described.reduction, tensors);
      using preconditioner = await preconditionerOf(name, kernel, { rank, shift: alpha });
      found = await cg(kernel.shift(alpha), b, {
        rtol,
        maxIterations,
        preconditioner,
        onIteration: ({ iterations, residual }) => {
          output.progress.update(`iteration ${iterations}, residual ${residual.toExponential(1)}`);
        },
      });
      if (!found.converged) throw notConverged(found);
      return found.x;
    });
  });
  const { iterations = 0, residual = NaN, columns = [] } = found ?? {};
  output.result({ ...summary, method: 'cg', iterations, residual, columns }, () =>
    renderFile(
      summary,
      `solution by cg in ${iterations} iterations, residual ${residual.toExponential(1)}`,
    ),
  );
}

/** @throws CliError USAGE */
function checkPreconditioner({ preconditioner, rank }: FormulaSystem, alpha: number): void {
  const isRanked = preconditioner === 'pivoted-cholesky' || preconditioner === 'nystrom';
  if (!isRanked) {
    if (rank === undefined) return;
    throw usageError(
      `--rank ${rank} is that of a preconditioner. Add --preconditioner pivoted-cholesky or nystrom, or leave it out.`,
    );
  }
  if (rank === undefined) {
    throw usageError(
      `--preconditioner ${preconditioner} needs a rank. Add --rank 100, for example.`,
    );
  }
  if (alpha > 0) return;
  throw usageError(
    `--preconditioner ${preconditioner} is of K + alpha I with a positive alpha, and --alpha is ${alpha}. Raise it, or use jacobi or none.`,
  );
}

/** For `kernel + shift I`. */
async function preconditionerOf(
  name: PreconditionerChoice,
  kernel: LinearOperator<FloatDType>,
  { rank = 0, shift }: { readonly rank: number | undefined; readonly shift: number },
): Promise<LinearOperator<FloatDType> | undefined> {
  if (name === 'jacobi') return await jacobi(kernel.shift(shift));
  if (name === 'nystrom') return await nystrom(kernel, { rank, shift, key: random.key(1) });
  return name === 'pivoted-cholesky' ? await pivotedCholesky(kernel, { rank, shift }) : undefined;
}

function notConverged({ iterations, residual }: IterativeSolution<FloatDType>): CliError {
  return new CliError(
    'NOT_CONVERGED',
    `Not converged: after ${iterations} iterations the residual is ${residual.toExponential(1)} of the right-hand side, and nothing is written. ` +
      `Allow more with --max-iterations, raise --alpha or --rtol, add a --preconditioner, or compute in float64 with --dtype float64.`,
  );
}

/** The library's advice names its functions; here they are options. */
async function inWordsOfTheCommand<T>(formula: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof MercerError) || error instanceof CliError) throw error;
    const message = error.message
      .replace('Shift it with shift(), or compute', 'Raise --alpha, or compute')
      .replace('Pass one that is, or none.', 'Take another --preconditioner, or none.')
      .replace('rank is', '--rank is');
    throw new CliError(error.code, `--formula '${formula}': ${message}`);
  }
}
