import type { Tensor } from '@mercer/tensor';
import type { Value } from '@mercer/tensor/operation';
import type { ObservedLayer } from '../statistics/observed.js';
import { NotByRules } from './chunks.js';
import { LAYER_RULES, type ParameterRule } from './layer-rules.js';

export const hasParameters = (paths: ObservedLayer['paths']): boolean =>
  paths.slice(1).some((path) => path !== undefined);

/**
 * The rules for each parameter, one for each use.
 *
 * @param paths of the parameters
 * @param numbers of the examples
 * @throws NotByRules
 */
export function rulesOf(
  paths: readonly string[],
  reduction: 'mean' | 'sum',
  layers: readonly ObservedLayer[],
  numbers: Tensor,
): readonly (readonly ParameterRule[])[] {
  const [count = 0] = numbers.shape;
  const rules = new Map<string, ParameterRule[]>();
  for (const { name, args, paths: own, outputGradient } of layers) {
    if (!hasParameters(own)) continue;
    const factor = reduction === 'mean' ? count : 1;
    const rule = LAYER_RULES[name](args, outputGradient, numbers);
    for (const at of [1, 2] as const) {
      const path = own[at];
      const one = rule[at];
      if (path === undefined || one === undefined) continue;
      rules.set(path, [...(rules.get(path) ?? []), scaled(one, factor)]);
    }
  }
  return paths.map((path) => {
    const found = rules.get(path);
    if (found === undefined) throw new NotByRules(`${path} is used by no layer`);
    return found;
  });
}

/** The loss is a mean: each cotangent is a fraction of its example's. */
function scaled(rule: ParameterRule, factor: number): ParameterRule {
  if (factor === 1) return rule;
  const { gradient, squaredNorm } = rule;
  return {
    gradient: () => gradient().mul(factor),
    ...(squaredNorm !== undefined && { squaredNorm: () => squaredNorm().mul(factor ** 2) }),
  };
}

/** The gradients of each example, of a parameter with one use or several: their dtype is that of the layers. */
export const summed = (rules: readonly ParameterRule[]): Value =>
  rules.map(({ gradient }) => gradient()).reduce((one, other) => one.add(other as Tensor));

/** The same in the parameter's dtype. */
export async function gradientOf(
  rules: readonly ParameterRule[],
  { dtype }: Pick<Tensor, 'dtype'>,
): Promise<Tensor> {
  const sum = await summed(rules);
  // a cast would copy it
  return sum.dtype === dtype ? sum : await sum.cast(dtype);
}

/** The squares of their norms. */
export async function squaredNormOf(rules: readonly ParameterRule[]): Promise<Tensor> {
  const [only] = rules;
  if (rules.length === 1 && only?.squaredNorm !== undefined) return only.squaredNorm();
  return squares((await summed(rules)) as Tensor);
}

/** The squared norm of each row, of any number of axes. */
export async function squares(gradients: Tensor): Promise<Tensor> {
  const axes = gradients.shape.map((_, axis) => axis).slice(1);
  return axes.length === 0 ? gradients.square() : gradients.square().sum(axes);
}
