import {
  hasGathers,
  outputsOf,
  reductionGradientSteps,
  type Reduction,
  type Steps,
} from '@mercer/formula/plan';
import { summedTo, type KnownValue, type Value } from '@mercer/tensor/operation';
import { gradientShape, inputAt, rowShape } from './derivatives.js';
import { nodeAt, type Input } from './input.js';
import { LazyError, translatedSteps } from './lazy-error.js';
import { usedBy, type JointTask, type Reductions } from './task.js';

/** Reductions of which the first is what was asked for. */
export interface WithSlopes {
  readonly reductions: Reductions;
  /** By the place of a variable that of the reduction which is the slope of the first by its rows. */
  readonly slopes: ReadonlyMap<number, number>;
}

/**
 * A sum of one number for each row beside its slopes by the variables at some places, so that one pass gives both: its gradient by a variable is
 * then the cotangent times the slope. Variables of the side that is reduced have none; of other reductions nothing has. In steps.
 */
export function* withSlopes(
  { what, reductions, inputs }: JointTask,
  places: readonly number[],
): Steps<WithSlopes> {
  const [first, ...others] = reductions;
  const slopes = new Map<number, number>();
  const all: [Reduction, ...Reduction[]] = [first, ...others];
  const isOne = first.kind === 'Sum' && outputsOf(first)[0]?.dim === 1 && others.length === 0;
  if (!isOne || hasGathers(first.formula)) return { reductions, slopes };
  const kept = first.axis === 1 ? 'i' : 'j';
  const used = usedBy([first.formula]);
  for (const place of places) {
    const by = inputAt({ inputs }, place);
    if (!used.has(place) || (by.category !== kept && by.category !== 'parameter')) continue;
    try {
      const steps = reductionGradientSteps(first, nodeAt(by, place), 1, {});
      const { reduction } = yield* translatedSteps(what, steps);
      slopes.set(place, all.push(reduction) - 1);
    } catch (error) {
      // told to whoever asks for that gradient
      if (!(error instanceof LazyError)) throw error;
    }
  }
  return { reductions: all, slopes };
}

/** The gradient by a variable from the cotangent of a sum, (..batch, rows, 1), and its slope, (..batch, rows, dim). */
export function bySlope(cotangent: Value, slope: KnownValue, by: Input): Value {
  const gradient = summedTo(cotangent.mul(slope as never), slope.shape, rowShape(by));
  const shape = gradientShape(by);
  return shape.join() === rowShape(by).join() ? gradient : gradient.reshape(shape);
}
