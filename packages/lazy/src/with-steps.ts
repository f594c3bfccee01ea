import { extentOf, shapeOf, type Input } from './input.js';
import { shapeAfter, type ViewStep } from './view-step.js';

/** An input with more steps than it has, whose sizes they change. */
export function withSteps(one: Input, steps: readonly ViewStep[]): Input {
  const { extent } = one;
  if (extent === undefined) return { ...one, steps };
  const added = steps.slice(one.steps.length);
  return {
    ...one,
    steps,
    extent: extentOf(one.category, shapeAfter(shapeOf(extent, one.dim), added)),
  };
}
