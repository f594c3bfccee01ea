import { mul, substitute, variable, type RealExpr } from '@mercer/formula';
import type { Rule, RuleStep, StepNumbers } from '../rule.js';
import { stateDType, updateInPlace } from '../update.js';

/** A rule that moves each element by itself, whatever the shapes. */
export interface ElementwiseRule {
  readonly name: string;
  readonly options: Readonly<Record<string, unknown>>;
  /** Names of the state beside each parameter, which begins with zeros. */
  readonly slots: readonly string[];
  /** What becomes of the parameter `p` and of slots, of these, the gradient `g`, the numbers and the parameters. */
  readonly formulas: Readonly<Record<string, RealExpr>>;
  readonly parameters: Readonly<Record<string, number>>;
  numbers(step: number): StepNumbers;
}

/** The rule in one launch for all parameters. */
export function elementwise(of: ElementwiseRule): Rule {
  const { name, options, slots, formulas, parameters } = of;
  const scaled = scaledBy(formulas);
  return {
    name,
    options,
    slots: ({ tensor }) =>
      Object.fromEntries(
        slots.map((slot) => [slot, { shape: tensor.shape, dtype: stateDType(tensor) }]),
      ),
    numbers: (step) => of.numbers(step),
    update: ({ leaves, numbers }: RuleStep) =>
      updateInPlace({
        leaves,
        formulas: numbers['factor'] === undefined ? formulas : scaled,
        lists: { g: leaves.map(({ grad }) => grad) },
        numbers,
        parameters,
      }),
  };
}

/** The formulas with gradients that are multiplied by the factor of the step. */
export const scaledBy = (
  formulas: Readonly<Record<string, RealExpr>>,
): Readonly<Record<string, RealExpr>> => {
  const g = mul(variable('g'), variable('factor'));
  return Object.fromEntries(
    Object.entries(formulas).map(([name, one]) => [name, substitute(one, { g })]),
  );
};
