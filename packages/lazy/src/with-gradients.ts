import { grad, reduction as describe } from '@mercer/formula';
import { inputAt, placeOf } from './derivatives.js';
import { describeInput, nodeAt } from './input.js';
import { JointReduction } from './joint-reduction.js';
import type { LazyDType } from './lazy-dtype.js';
import { LazyError } from './lazy-error.js';
import { checkReduction } from './check-reduction.js';
import { checkOperand, type LazyFormula, type LazyOperand } from './lazy-formula.js';
import { LazyReduction } from './lazy-reduction.js';
import { gathersOf } from './shares.js';
import { combine } from './symbolic.js';
import { tablesApart } from './tables-apart.js';
import type { NamedVariables } from './value-and-gradients.js';

/** The result of `withGradients`: a sum and its gradients. */
export type SumWithGradients<D extends LazyDType, V extends NamedVariables> = {
  readonly [N in 'value' | keyof V]: LazyReduction<'Sum', D>;
};

/**
 * A sum and its gradients by variables of the kept side as one pass, described for later and prepared calls: what
 * `valueAndGradients` computes at once. `cotangent` may be a number or a formula of the kept side, such as a placeholder.
 * Gradients are by rows, (..batch, rows, dim of the variable); batch axes that the variable has not are not added up.
 *
 * @param variables by the name of the result; 'value' is that of the sum
 * @throws LazyError INVALID_ARGUMENT for variables of the other side, parameters, tables and variables whose rows are taken by
 * index, and for a reduction that is no Sum
 *
 * @example
 * ```ts
 * import { lazyI, lazyJ, withGradients } from '@mercer/lazy';
 * import { tensor } from '@mercer/tensor';
 *
 * const x = lazyI({ position: 0, dim: 1 }, { name: 'x' });
 * const y = lazyJ({ position: 1, dim: 1 });
 * const energy = withGradients(x.sqdist(y).reduction('Sum', 'j'), { slope: x });
 * const data = [await tensor([[1]], { device: 'cpu' }), await tensor([[3], [4]], { device: 'cpu' })];
 * const prepared = await energy.prepare(data);
 * const { value, slope } = prepared(data);
 * console.log(await value.toNested(), await slope.toNested()); // [ [ 13 ] ] [ [ -10 ] ]
 * ```
 */
export function withGradients<D extends LazyDType, const V extends NamedVariables>(
  of: LazyReduction<'Sum', D>,
  variables: V,
  cotangent: LazyOperand = 1,
): JointReduction<SumWithGradients<D, V>> {
  const what = 'withGradients';
  checkReduction(what, of);
  const task = tablesApart(of.task);
  const { kind, axis, formula } = task.reduction;
  if (kind !== 'Sum') {
    throw invalid(
      `the reduction is ${kind}. Only the gradients of a Sum need nothing of its result; use valueAndGradients.`,
    );
  }
  const kept = axis === 1 ? 'i' : 'j';
  const seed = checkOperand(`${what}: the cotangent`, cotangent, 'real');
  for (const one of typeof seed === 'number' ? [] : seed.inputs) {
    if (one.category === kept || one.category === 'parameter') continue;
    throw invalid(
      `the cotangent has ${describeInput(one)}, of the side that is reduced. A cotangent follows the rows of the result: make it of ${kept}.`,
    );
  }
  const parts: Record<string, LazyReduction<'Sum', D>> = { value: of };
  for (const [name, variable] of Object.entries<LazyFormula | string>(variables)) {
    if (name === 'value') throw invalid("a gradient is called 'value', as the sum is. Rename it.");
    const place = placeOf(what, task, variable);
    const by = inputAt(task, place);
    if (by.category !== kept) {
      throw invalid(
        `${describeInput(by)} is not of ${kept}, the side that the sum keeps, so its gradient is no result for each row of ${kept}. Use valueAndGradients.`,
      );
    }
    if (gathersOf({ ...task, place }).length > 0) {
      throw invalid(
        `rows of ${describeInput(by)} are taken by index too, and what they add to its gradient is no result for each row of ${kept}. Use valueAndGradients.`,
      );
    }
    const node = { formula: nodeAt(by, 0), inputs: [by] };
    const whole = { formula, inputs: task.inputs };
    const gradient = combine(what, [whole, node, seed], (f, v, e) => grad(f, v, e));
    const sum = describe('Sum', gradient.formula, { axis });
    parts[name] = new LazyReduction<'Sum', D>(what, sum, gradient.inputs);
  }
  return new JointReduction(what, parts as SumWithGradients<D, V>);
}

function invalid(problem: string): LazyError {
  return new LazyError('INVALID_ARGUMENT', `withGradients: ${problem}`);
}
