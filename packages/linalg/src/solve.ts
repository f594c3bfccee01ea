import { describeValue, own, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape, type DerivativeRule } from '@mercer/tensor/operation';
import { choice, type LinalgDType } from './checks.js';
import type { InfoMeaning } from './infos.js';
import { linalgFunction } from './linalg-operation.js';
import { transposed, type PlannedMatrix } from './operand.js';
import type { PlannedCall } from './planned-call.js';
import {
  type CallOptions,
  type Infos,
  type PreparedRoutine,
  type ResultTargets,
  type RightHandSidesOption,
  type TriangleOption,
  CALL_OPTIONS,
  SIDES_OPTION,
} from './options.js';

/** Options of solveLU, and most of those of solveCholesky. */
export interface SolveOptions<D extends LinalgDType> extends CallOptions, RightHandSidesOption {
  /** Leave the factor in a's memory. a must have every batch entry itself. */
  readonly overwriteA?: boolean | undefined;
  /** Write the solution into b's memory; the result is another handle for it. b must have every batch entry itself. */
  readonly overwriteB?: boolean | undefined;
  /**
   * Mixed precision: factor in float32 and correct the solution this many times with residuals in float64, which reaches
   * the accuracy of float64 where the condition number is well below 1e7. From 0 to 100; not together with overwriteA. a must
   * be finite in float32 too, and on a GPU b as well.
   */
  readonly refine?: number | undefined;
  /** Where the solution goes, or results by name; not together with overwriteB. */
  readonly out?: Tensor<D> | ResultTargets<Solution<D>> | undefined;
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

/** Solves systems like those of a preparation, of any number and size. */
export type PreparedSolve<D extends LinalgDType> = PreparedRoutine<
  [a: Tensor<D>, b: Tensor<NoInfer<D>>],
  Solution<D>,
  Tensor<D> | ResultTargets<Solution<D>>
>;

/** What distinguishes one solver from another. */
interface Solver {
  readonly what: string;
  readonly routine: 'solveCholesky' | 'solveLU';
  /** The same with a float32 factor and corrections. */
  readonly refined: 'refinedCholesky' | 'refinedLU';
  readonly meaning: InfoMeaning;
  readonly derivative: DerivativeRule;
}

/** Solves with a factorisation of a square a. */
// eslint-disable-next-line @typescript-eslint/no-unnecessary-type-parameters -- the face, which types the arguments
export function solveFunction<F>(
  { what, routine, refined, meaning, derivative }: Solver,
  options: OptionNames<SolveOptions<LinalgDType> & TriangleOption>,
): F {
  return linalgFunction<F, SolveOptions<LinalgDType> & TriangleOption>(
    {
      what,
      matrices: ['a', 'b'],
      options,
      results: ['x', 'infos'],
      overwrites: [
        ['overwriteA', 'a', 'factor'],
        ['overwriteB', 'b', 'x'],
      ],
      meaning: () => meaning,
      derivative,
      plan: (call, given) => {
        const { refine, overwriteA = false } = given;
        const upper = Number(
          choice(what, 'uplo', own(given, 'uplo').uplo, ['lower', 'upper']) === 'upper',
        );
        const sides = rightHandSides(call, given);
        if (refine !== undefined) checkRefine(what, refine, overwriteA);
        const n = sides.operands.a.rows;
        const x = sides.solutions('x', n);
        const args = { ...sides.operands, x, infos: call.integers('infos'), upper };
        if (refine !== undefined) call.run(refined, { ...args, steps: refine });
        else {
          const factor = overwriteA ? call.matrix('factor', n, n) : undefined;
          call.run(routine, { ...args, factor });
        }
      },
    },
    2,
  );
}

function checkRefine(what: string, refine: number, overwriteA: boolean): void {
  if (!Number.isInteger(refine) || refine < 0 || refine > 100) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: refine is ${describeValue(refine)}. Pass the number of corrections, an integer from 0 to 100.`,
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
export function sideOf(what: string, { rightHandSides }: RightHandSidesOption): 'columns' | 'rows' {
  return choice(what, 'rightHandSides', rightHandSides, ['columns', 'rows']);
}

/** A matrix and right-hand sides, as routines take them. */
export interface Sides {
  readonly operands: { readonly a: PlannedMatrix; readonly b: PlannedMatrix };
  /** The next result of a call: solutions of n numbers each, which lie as the right-hand sides do. */
  readonly solutions: (name: string, n: number) => PlannedMatrix;
}

/** The operands a, square unless it is said, and b. @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH */
export function rightHandSides(
  call: PlannedCall,
  options: RightHandSidesOption,
  isSquare = true,
): Sides {
  const { what } = call;
  const side = sideOf(what, options);
  const rows = isSquare ? call.order() : call.operand('a').rows;
  assertSides(what, rows, 'b', call.tensor('b'), side);
  const asColumns = (one: PlannedMatrix): PlannedMatrix =>
    side === 'rows' ? transposed(one) : one;
  const operands = { a: call.operand('a'), b: asColumns(call.operand('b')) };
  const solutions = (name: string, n: number): PlannedMatrix => {
    const count = operands.b.columns;
    const [first, second] = side === 'rows' ? [count, n] : [n, count];
    return asColumns(call.matrix(name, first, second));
  };
  return { operands, solutions };
}

/** @throws MercerError SHAPE_MISMATCH where the right-hand sides do not have n entries */
export function assertSides(
  what: string,
  n: number,
  name: string,
  b: Tensor,
  side: 'columns' | 'rows',
): void {
  const [rows, columns] = b.shape.slice(-2);
  if ((side === 'rows' ? columns : rows) === n) return;
  const other = side === 'rows' ? 'columns' : 'rows';
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${what}: ${name} is ${b.label}, whose right-hand sides are its ${side}, and a has ${n} rows. ` +
      `${name} must be ${formatShape(side === 'rows' ? [-1, n] : [n, -1]).replace('-1', 'c')} behind its batch axes; right-hand sides in ${other} are said with rightHandSides: '${other}'.`,
  );
}
