import { type Tensor } from '@mercer/tensor';
import {
  isKnownResult,
  pending,
  recorded,
  whenKnown,
  type DerivativeRule,
  type KnownValue,
  type Primitive,
  type TracedResult,
  type Traced,
  type Value,
} from '@mercer/tensor/operation';
import { released } from './trace/handed.js';
import type { Owning } from './trace/owning.js';

type Hear = (cotangent: Tensor) => void;

/** What is not launched stays so: to be part of the kernel that reads it. */
const same = (x: Value): Value => (isKnownResult(x) ? (x as Value).mul(1) : x.view());

const listening: Primitive = {
  name: 'listened',
  call: (x: Value, by: Value, hear: Hear) => recorded(listening, [x, by, hear]) ?? same(x),
  derivative: {
    vjp: (g, { args: [x, , hear] }) => [
      () => g,
      () => pending(told(g, x, hear)) as unknown as Value,
    ],
    jvp: ([tangent]) => tangent,
  } satisfies DerivativeRule<readonly [x: KnownValue, by: KnownValue, hear: Hear]>,
};

/**
 * The value itself, whose cotangent is told when a gradient has come to it. It costs no kernel.
 *
 * @param by a variable of the gradient, which the value needs not depend on
 * @param hear gets the cotangent, of the value's shape and dtype: a tensor that is the hearer's. It is not called where the derivative by the value is 0
 */
export const listened = (x: Value, by: Value, hear: Hear): Value =>
  listening.call(...([x, by, hear] as never[])) as Value;

async function told(g: Value, x: KnownValue, hear: Hear): Promise<undefined> {
  const { made } = await whenKnown(g);
  const { trace } = made as Traced | TracedResult;
  const [cotangent] = await released([made as KnownValue], [x], trace as unknown as Owning);
  if (cotangent !== undefined) hear(cotangent);
  return undefined;
}
