import {
  cg,
  formula as language,
  jacobi,
  kernelSolve,
  NotConvergedError,
  nystrom,
  pivotedCholesky,
  random,
  SolverError,
  type IterativeSolution,
  type LinearOperator,
  type Tensor,
} from '@mercer/core';
import { CliError, usageError } from '../cli-error.js';
import { computeToFile, renderFile, type FileOptions } from '../files/compute-to-file.js';
import type { FloatDType } from '../files/read-operand.js';
import { namingOption, namingOptionLater } from '../options/named-option.js';
import type { Assignment } from '../options/parse-assignment.js';
import type { Output } from '../output/output.js';
import { describeReduction } from '../reduce/describe-reduction.js';
import { isRows, matchArguments } from '../reduce/match-arguments.js';
import { placeArguments } from '../reduce/place-arguments.js';
import { formulaOperator } from './formula-operator.js';

/** What `--preconditioner` takes. */
export const PRECONDITIONERS = [
  'none',
  'jacobi',
  'pivoted-cholesky',
  'nystrom',
  'nystrom-columns',
] as const;

/** Those of low rank. */
const RANKED: readonly string[] = ['pivoted-cholesky', 'nystrom', 'nystrom-columns'];

type PreconditionerChoice = (typeof PRECONDITIONERS)[number];

/** Options of a system whose matrix is a formula. */
export interface FormulaSystem extends FileOptions {
  readonly formula: string;
  readonly alias?: readonly string[];
  readonly arg?: readonly Assignment[];
  readonly unknown?: string;
  readonly alpha?: number;
  readonly rtol?: number;
  readonly maxIterations?: number;
  readonly preconditioner?: PreconditionerChoice;
  readonly rank?: number;
}

/** What conjugate gradients found, as far as they tell. */
type Found = Pick<IterativeSolution<FloatDType>, 'iterations' | 'residual'> &
  Partial<Pick<IterativeSolution<FloatDType>, 'columns'>>;

/**
 * Solves (K + alpha I) x = b by conjugate gradients, with the matrix K of a formula, which is not stored: of its entries, or with an unknown of its
 * terms, linear in that, as `kernelSolve` takes them.
 */
export async function solveFormula(
  output: Output,
  fileB: string,
  options: FormulaSystem,
): Promise<void> {
  const { formula, alias = [], arg = [], alpha = 1e-10, unknown } = options;
  checkPreconditioner(options, alpha);
  if (language.isReductionText(formula)) {
    throw usageError(
      `--formula '${formula}' is a whole reduction. Give what is summed alone, such as Exp(-SqDist(x,y)).`,
    );
  }
  const linear = unknown === undefined ? undefined : linearText(unknown, options);
  const described = describeReduction({ formula, alias });
  const own = unknown === undefined ? [] : [{ name: unknown, value: fileB }];
  const given = matchArguments(described, [...arg, ...own]);
  const files = [
    ...(linear === undefined ? [fileB] : []),
    ...given.filter(isRows).map(({ file }) => file),
  ];
  let found: Found | undefined;
  const report = (now: Found): void => {
    found = now;
    const { iterations, residual } = now;
    output.progress.update(`iteration ${iterations}, residual ${residual.toExponential(1)}`);
  };
  const summary = await computeToFile(output, files, options, async (read, device) => {
    const rows = linear === undefined ? read.slice(1) : read;
    const tensors = await placeArguments(given, rows, { device, dtype: options.dtype });
    return await inWordsOfTheCommand(options, async () => {
      if (linear !== undefined) return linear(tensors as Tensor<FloatDType>[], report);
      const [b] = read;
      if (b === undefined) throw new Error('the right-hand sides have been read');
      const solution = await solveEntries(
        formulaOperator(described.reduction, tensors),
        b,
        options,
        report,
      );
      found = solution;
      return solution.x;
    });
  });
  const { iterations = 0, residual = NaN, columns } = found ?? {};
  output.result({ ...summary, method: 'cg', iterations, residual, columns }, () =>
    renderFile(
      summary,
      `solution by cg in ${iterations} iterations, residual ${residual.toExponential(1)}`,
    ),
  );
}

/** The system whose terms are the formula, linear in the unknown. @throws CliError USAGE */
function linearText(
  unknown: string,
  {
    formula,
    alias = [],
    arg = [],
    alpha,
    rtol,
    maxIterations,
    preconditioner = 'none',
  }: FormulaSystem,
): (
  tensors: readonly Tensor<FloatDType>[],
  report: (now: Found) => void,
) => Promise<Tensor<FloatDType>> {
  const aliases = namingOption(`--alias '${alias.join("' --alias '")}'`, () =>
    language.parseAliases(alias),
  );
  const input = aliases.get(unknown);
  if (input === undefined || (input.category !== 'i' && input.category !== 'j')) {
    throw usageError(
      `--unknown ${unknown} is no alias of rows. Declare it, for example as --alias '${unknown}=Vj(1)', and name it in the formula.`,
    );
  }
  if (arg.some(({ name }) => name === unknown)) {
    throw usageError(
      `--arg ${unknown} is the data of the unknown. Leave it out: the file of right-hand sides is in its place.`,
    );
  }
  if (preconditioner !== 'none') {
    throw usageError(
      `--preconditioner ${preconditioner} reads entries of the matrix, and with --unknown the formula gives its products alone. Give the entries as --formula, or leave it out.`,
    );
  }
  const solve = namingOption(`--formula '${formula}'`, () =>
    kernelSolve(formula, alias, unknown, { axis: input.category as 'i' | 'j' }),
  );
  return (tensors, report) => solve(tensors, { alpha, rtol, maxIterations, onIteration: report });
}

/** The system whose matrix has the entries of a formula. */
async function solveEntries(
  kernel: LinearOperator<FloatDType>,
  b: Tensor<FloatDType>,
  { alpha = 1e-10, rtol, maxIterations, preconditioner: name = 'none', rank }: FormulaSystem,
  onIteration: (now: Found) => void,
): Promise<IterativeSolution<FloatDType>> {
  const [unknowns] = kernel.shape;
  if (rank !== undefined && rank > unknowns) {
    throw new CliError(
      'INVALID_ARGUMENT',
      `--rank is ${rank}, and the system has ${unknowns} unknowns. Pass a whole number from 1 to ${unknowns}.`,
    );
  }
  using preconditioner = await preconditionerOf(name, kernel, { rank, shift: alpha });
  const found = await cg(kernel.shift(alpha), b, {
    rtol,
    maxIterations,
    preconditioner,
    onIteration,
  });
  if (!found.converged) throw new NotConvergedError('solve', found);
  return found;
}

/** @throws CliError USAGE */
function checkPreconditioner({ preconditioner, rank }: FormulaSystem, alpha: number): void {
  const isRanked = preconditioner !== undefined && RANKED.includes(preconditioner);
  if (!isRanked) {
    if (rank === undefined) return;
    throw usageError(
      `--rank ${rank} is that of a preconditioner. Add --preconditioner ${RANKED.join(' or ')}, or leave it out.`,
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
  if (name === 'pivoted-cholesky') return await pivotedCholesky(kernel, { rank, shift });
  if (name === 'none') return undefined;
  const columns = name === 'nystrom-columns';
  return await nystrom(kernel, { rank, shift, key: random.key(1), columns });
}

/** Runs a solve: errors name the formula, and those of the iteration speak of options. */
const inWordsOfTheCommand = <T>(options: FormulaSystem, step: () => Promise<T>): Promise<T> =>
  namingOptionLater(`--formula '${options.formula}'`, async () => {
    try {
      return await step();
    } catch (error) {
      throw error instanceof SolverError ? inOwnWords(error, options) : error;
    }
  });

/** What the command says where the library has another advice, by the fields of its errors. */
function inOwnWords(
  error: SolverError,
  { formula, alpha = 1e-10, preconditioner = 'none' }: FormulaSystem,
): SolverError | CliError {
  const { code, failure: { figure, iteration = 0 } = {} } = error;
  if (error instanceof NotConvergedError) {
    const { iterations, residual, x } = error.solution;
    x.dispose();
    return new CliError(
      code,
      `Not converged: after ${iterations} iterations the residual is ${residual.toExponential(1)} of the right-hand side, and nothing is written. ` +
        `Allow more with --max-iterations, raise --alpha or --rtol, add a --preconditioner, or compute in float64 with --dtype float64.`,
    );
  }
  const found =
    figure === undefined ? '' : ` (${figure.toExponential(1)} at iteration ${iteration})`;
  if (code === 'INDEFINITE') {
    return new CliError(
      code,
      `--formula '${formula}': with --alpha ${alpha} the matrix is not positive definite, or too nearly singular for its dtype${found}. Raise --alpha, or compute with --dtype float64.`,
    );
  }
  if (code === 'BAD_PRECONDITIONER') {
    return new CliError(
      code,
      `--formula '${formula}': the preconditioner ${preconditioner} of this matrix is not positive definite${found}. Take another --preconditioner, or none.`,
    );
  }
  return error;
}
