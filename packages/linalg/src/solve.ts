import type { OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import { choice, orderOf, settingOf, type LinalgDType } from './checks.js';
import { checkInfos, type InfoMeaning } from './infos.js';
import { matrixOperand, transposed, type MatrixOperand } from './operand.js';
import {
  type CallOptions,
  type Infos,
  type RightHandSidesOption,
  CALL_OPTIONS,
  SIDES_OPTION,
} from './options.js';
import { assertOverwritable, withOutputs } from './outputs.js';
import { runRoutine } from './run-routine.js';

/** Options of solveLU, and most of those of solveCholesky. */
export interface SolveOptions<D extends LinalgDType> extends CallOptions, RightHandSidesOption {
  /** Leave the factor in a's memory. a must have every batch entry itself. */
  readonly overwriteA?: boolean | undefined;
  /** Write the solution into b's memory; the result is another handle for it. b must have every batch entry itself. */
  readonly overwriteB?: boolean | undefined;
  /**
   * Mixed precision: factor in float32 and correct the solution this many times with residuals in float64, which reaches
   * the accuracy of float64 where the condition number is well below 1e7. From 0 to 100; not together with overwriteA. a must
   * be finite in float32 too.
   */
  readonly refine?: number | undefined;
  /** Where the solution goes; not together with overwriteB. */
  readonly out?: Tensor<D> | undefined;
}

/** Names of {@link SolveOptions}. */
export const SOLVE_OPTIONS: OptionNames<SolveOptions<LinalgDType>> = {
  ...CALL_OPTIONS,
  ...SIDES_OPTION,
  overwriteA: true,
  overwriteB: true,
  refine: true,
  out: true,
};

/** The solution of linear systems. */
export interface Solution<D extends LinalgDType> extends Infos {
  /** Of b's shape, with the broadcast batch axes. */
  readonly x: Tensor<D>;
}

/** What distinguishes one solver from another. */
export interface Solver {
  readonly what: string;
  readonly routine: 'solveCholesky' | 'solveLU';
  /** The same with a float32 factor and corrections. */
  readonly refined: 'refinedCholesky' | 'refinedLU';
  readonly meaning: InfoMeaning;
  readonly upper: boolean;
}

/** Solves with a factorisation of a square a. @throws MercerError, LinalgError */
export async function solveWith<D extends LinalgDType>(
  { what, routine, refined, meaning, upper }: Solver,
  a: Tensor<D>,
  b: Tensor<D>,
  options: SolveOptions<D>,
): Promise<Solution<D>> {
  const { stream, overwriteA = false, overwriteB = false, out, refine } = options;
  const setting = settingOf(what, { a, b });
  const { batchShape } = setting;
  const n = orderOf(what, 'a', a);
  const side = rightHandSides(what, options);
  assertSides(what, n, b, side);
  if (overwriteB && out !== undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: both out and overwriteB are given. Choose one place for the solution.`,
    );
  }
  if (refine !== undefined) checkRefine(what, refine, overwriteA);
  if (overwriteA) assertOverwritable(setting, 'a', a, out === undefined ? [b] : [b, out]);
  if (overwriteB) assertOverwritable(setting, 'b', b, [a]);
  return withOutputs(setting, stream, async (outputs) => {
    const x = overwriteB ? outputs.alias(b) : outputs.given(out, b.shape.slice(-2), [a, b]);
    const infos = outputs.integers();
    const as = (t: Tensor): MatrixOperand => sideOperand(t, batchShape, side);
    const whole = matrixOperand(a, batchShape);
    const args = { a: whole, b: as(b), x: as(x), infos, upper: Number(upper) };
    if (refine === undefined) {
      const factor = overwriteA ? whole : undefined;
      await runRoutine(routine, setting, { ...args, factor }, options);
    } else {
      await runRoutine(refined, setting, { ...args, steps: refine }, options);
    }
    if (options.checkErrors === true) await checkInfos(what, infos, meaning, options);
    return { x, infos };
  });
}

function checkRefine(what: string, refine: number, overwriteA: boolean): void {
  if (!Number.isInteger(refine) || refine < 0 || refine > 100) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: refine is ${refine}. Pass the number of corrections, an integer from 0 to 100.`,
    );
  }
  if (overwriteA) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: both refine and overwriteA are given. The factor is float32 then; leave one of them out.`,
    );
  }
}

/** The option, checked. @throws MercerError INVALID_ARGUMENT */
export function rightHandSides(what: string, options: RightHandSidesOption): 'columns' | 'rows' {
  return choice(what, 'rightHandSides', options.rightHandSides, ['columns', 'rows']);
}

/** Right-hand sides or solutions as the columns of matrices. */
export function sideOperand(
  t: Tensor,
  batchShape: readonly number[],
  side: 'columns' | 'rows',
): MatrixOperand {
  const operand = matrixOperand(t, batchShape);
  return side === 'rows' ? transposed(operand) : operand;
}

/** @throws MercerError SHAPE_MISMATCH where the right-hand sides do not have n entries */
export function assertSides(what: string, n: number, b: Tensor, side: 'columns' | 'rows'): void {
  const [rows, columns] = b.shape.slice(-2);
  if ((side === 'rows' ? columns : rows) === n) return;
  const other = side === 'rows' ? 'columns' : 'rows';
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: b is ${b.label}, whose right-hand sides are its ${side}, and a has ${n} rows. ` +
      `b must be ${formatShape(side === 'rows' ? [-1, n] : [n, -1]).replace('-1', 'c')} behind its batch axes; right-hand sides in ${other} are said with rightHandSides: '${other}'.`,
  );
}
