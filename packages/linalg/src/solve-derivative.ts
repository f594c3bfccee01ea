import { own } from '@mercer/options';
import type { Tensor } from '@mercer/tensor';
import {
  pendingOf,
  summedTo,
  type DerivativeRule,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import type { Named } from './derivative-parts.js';
import { matmulOf } from './matmul.js';
import type { RightHandSidesOption } from './options.js';

/** What differs between the solves. */
interface SolveDerivative<O> {
  /** The solutions of the transposed systems. */
  readonly solveTransposed: (
    a: KnownValue,
    b: KnownValue,
    options: O,
  ) => Promise<{ readonly x: Tensor }>;
  /** Whether the call solved with `a^T`. */
  readonly isTransposed?: (options: O) => boolean;
  /** What the cotangent of a becomes where the call read only some of its elements. */
  readonly finish: (da: Value, options: O) => Value;
}

/**
 * The rule of a solve: the cotangent of b is y with `a^T y = g`, that of a is `-y x^T`, or `-x y^T` where the call solved with `a^T` (Giles
 * 2008, section 2.3.1).
 */
export function solveDerivative<O extends RightHandSidesOption>(
  rule: SolveDerivative<O>,
): DerivativeRule<readonly [a: KnownValue, b: KnownValue, options?: O]> {
  const { isTransposed } = own(rule, 'isTransposed');
  return {
    vjp: (g, { args: [a, b, options = {} as O], result }) => {
      const { x: upstream } = g as unknown as Named<'x'>;
      const { x } = result as unknown as Named<'x'>;
      let solution: Promise<Tensor> | undefined;
      const solved = (): Promise<Tensor> =>
        (solution ??= rule.solveTransposed(a, upstream, options).then((all) => all.x));
      const ofA = async (): Promise<Tensor> => {
        const y = await solved();
        const isRows = options.rightHandSides === 'rows';
        const [left, right] = isTransposed?.(options) === true ? [x, y] : [y, x];
        const how = { alpha: -1, transposeA: isRows, transposeB: !isRows };
        const shape = [...x.shape.slice(0, -2), ...a.shape.slice(-2)];
        return rule.finish(summedTo(matmulOf(left, right, how), shape, a.shape), options);
      };
      const ofB = async (): Promise<Tensor> => summedTo(await solved(), x.shape, b.shape);
      return [() => pendingOf(ofA), () => pendingOf(ofB)];
    },
  };
}
