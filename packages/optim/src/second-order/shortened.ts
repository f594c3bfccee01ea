import { constant, div, gt, mul, select, sqrt, variable } from '@mercer/formula';
import { map, type Scope, type Tensor } from '@mercer/tensor';
import type { RuleStep } from '../rule.js';
import type { DeviceNumber } from '../update.js';

const v = variable;
const ONE = constant(1);
const PRODUCT = mul(v('g'), v('u'));
/** How much a step is shortened, so that `rate² product` is at most `most`. */
const SHORTENED = select(
  gt(mul(mul(v('rate'), v('rate')), v('product')), v('most')),
  div(sqrt(div(v('most'), v('product'))), v('rate')),
  1,
);

/** The sum over tensors of the products of their elements with others', 0-d in float64. */
export async function innerProduct(
  scope: Scope,
  g: readonly Tensor[],
  u: readonly Tensor[],
  device: Tensor['device'],
): Promise<Tensor> {
  const size = g.reduce((sum, one) => sum + one.size, 0);
  const all = scope.empty([size], { dtype: 'float64', device });
  let from = 0;
  const out = g.map(({ shape, size: own }) => {
    const run = scope.track(all.slice([from, (from += own)]));
    return scope.track(run.reshape(shape));
  });
  if (g.length > 0) await map(PRODUCT, { g, u }, { out });
  return scope.track(await all.sum());
}

/** The learning rate of a step as one tensor. */
export const rateOn = ({ numbers }: Pick<RuleStep, 'numbers'>): Tensor => {
  const { float32, float64 } = numbers['rate'] as DeviceNumber;
  return (float64 ?? float32) as Tensor;
};

/** What a step u for the gradient g is multiplied by, so that `lr² g·u` is at most `most`: 1 where there is no limit. */
export async function shortening(
  scope: Scope,
  step: Pick<RuleStep, 'numbers'>,
  product: Tensor,
  most: number | undefined,
): Promise<DeviceNumber & { readonly float64: Tensor }> {
  const dtype = { float32: 'float32', float64: 'float64' } as const;
  const { float32, float64 } = await (most === undefined
    ? map({ float32: ONE, float64: ONE }, { x: product }, { dtype })
    : map(
        { float32: SHORTENED, float64: SHORTENED },
        { rate: rateOn(step), product },
        { parameters: { most }, dtype },
      ));
  for (const one of [float32, float64]) scope.track(one);
  return { float32, float64 };
}
