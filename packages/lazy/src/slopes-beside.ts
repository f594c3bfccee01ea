import {
  hasGathers,
  outputsOf,
  reductionGradientSteps,
  type Reduction,
  type Steps,
  type VariableNode,
  type VectorExpr,
} from '@mercer/formula';
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
      slopes.set(place, all.push(yield* slopeOf(what, first, nodeAt(by, place))) - 1);
    } catch (error) {
      // told to whoever asks for that gradient
      if (!(error instanceof LazyError)) throw error;
    }
  }
  return { reductions: all, slopes };
}

/** By the formula of a sum, which is the same object where it comes again: its slopes by variable and axis. */
const known = new WeakMap<VectorExpr, Map<string, Reduction>>();

function* slopeOf(what: string, sum: Reduction, by: VariableNode): Steps<Reduction> {
  const { formula, axis } = sum;
  const key = `${by.id} ${axis}`;
  let slopes = known.get(formula);
  if (slopes === undefined) known.set(formula, (slopes = new Map<string, Reduction>()));
  let slope = slopes.get(key);
  if (slope === undefined) {
    const steps = reductionGradientSteps(sum, by, 1, {});
    slope = (yield* translatedSteps(what, steps)).reduction;
    slopes.set(key, slope);
  }
  return slope;
}

/** The gradient by a variable from the cotangent of a sum, (..batch, rows, 1), and its slope, (..batch, rows, dim). */
export function bySlope(cotangent: Value, slope: KnownValue, by: Input): Value {
  const gradient = summedTo(cotangent.mul(slope as never), slope.shape, rowShape(by));
  const shape = gradientShape(by);
  return shape.join() === rowShape(by).join() ? gradient : gradient.reshape(shape);
}
