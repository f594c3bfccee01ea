import { own, type OptionNames } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import { WORK_OPTIONS } from '@mercer/tensor/operation';
import { workOf } from '../options.js';
import { settingOf, type LinalgDType } from '../checks.js';
import { matmul } from '../matmul.js';
import { sideOf } from '../solve.js';
import { type RightHandSidesOption, SIDES_OPTION } from '../options.js';
import { assertLike } from './backward-checks.js';
import {
  wantedOf,
  type BackwardOptions,
  type LinalgGradients,
  type Shaped,
  type WrtOption,
} from './backward-options.js';
import { summedTo } from './shape-gradient.js';

/** The inputs of a solve by name. */
export type SolveInputs = readonly ('a' | 'b')[];

/** Options of the backward rules of solves: those of the forward call that matter, and what is wanted. */
export interface SolveBackwardOptions<W extends SolveInputs>
  extends BackwardOptions, RightHandSidesOption, WrtOption<W> {}

/** Names of {@link SolveBackwardOptions}. */
export const SOLVE_BACKWARD_OPTIONS: OptionNames<SolveBackwardOptions<SolveInputs>> = {
  ...WORK_OPTIONS,
  ...SIDES_OPTION,
  wrt: true,
};

/** What the forward call left behind. */
export interface SolveSaved<D extends LinalgDType> {
  readonly a: Tensor<D>;
  /** The solutions. */
  readonly x: Tensor<D>;
  /** The right-hand sides, or only their shape; needed where b was broadcast. Default: x's shape. */
  readonly b?: Shaped | undefined;
}

/** What differs between the solves. */
export interface SolveRule<D extends LinalgDType> {
  readonly what: string;
  /** The solutions of the transposed systems, for right-hand sides that lie as those of the call. */
  readonly solveTransposed: (sides: Tensor<D>) => Promise<Tensor<D>>;
  /** `-y x^T` as a gradient of a's own shape becomes the gradient of what the call read of a. Takes it over. */
  readonly finish: (outer: Tensor<D>) => Promise<Tensor<D>>;
  /** True where the call solved with `a^T`: then the gradient of a is `-x y^T`. */
  readonly transposed: boolean;
}

/** For `a x = b`: `db = y` with `a^T y = dx`, and `da = -y x^T` (Giles 2008, section 2.3.1). */
export async function solveBackward<D extends LinalgDType, W extends SolveInputs>(
  { what, solveTransposed, finish, transposed }: SolveRule<D>,
  gradient: Tensor<D>,
  saved: SolveSaved<D>,
  options: SolveBackwardOptions<W>,
): Promise<LinalgGradients<W, D>> {
  const within = workOf(options);
  const { a, x, b = x } = own(saved, 'a', 'x', 'b');
  const wanted = wantedOf(what, options, ['a', 'b']);
  settingOf(what, { a, x });
  assertLike(what, 'gradient', gradient, x.shape, x);
  const side = sideOf(what, options);
  using y = await solveTransposed(gradient);
  const gradients: { a?: Tensor<D>; b?: Tensor<D> } = {};
  try {
    if (wanted.has('b')) gradients.b = await summedTo(y.view(), b.shape, within);
    if (wanted.has('a')) {
      const sides = side === 'columns' ? { transposeB: true } : { transposeA: true };
      const [left, right] = transposed ? [x, y] : [y, x];
      const outer = await matmul(left, right, { ...sides, alpha: -1, ...within });
      gradients.a = await finish(await summedTo(outer, a.shape, within));
    }
  } catch (error) {
    if (Object.hasOwn(gradients, 'b')) gradients.b?.dispose();
    throw error;
  }
  return gradients as LinalgGradients<W, D>;
}
