import { describe, expect, it } from 'vitest';
import { drawn, expectClose } from '../../autodiff/test/differences.mjs';
import {
  cdist,
  cdistBackward,
  customJvp,
  customVjp,
  formula,
  inv,
  jvp,
  kernels,
  lazyI,
  lazyJ,
  map,
  runKernelBackward,
  vjp,
  type Tensor,
} from './index.js';

type Floats = Tensor<'float64'>;
type Rule = (t: Floats, x: Floats, other: Floats) => unknown;

const variable = formula.variable;

/** Rules that are linear in t, (4, 3), by kernels and formulas; x and other are (4, 3). */
const RULES: Readonly<Record<string, Rule>> = {
  'a formula': (t, v) => map(formula.mul(variable('t'), formula.exp(variable('v'))), { t, v }),
  'a product and a solution': async (t, x) =>
    t.matmul((await inv(x.matmul(x, { transposeA: true }))).inverse),
  'a sum over the other side': (t, x, other) =>
    lazyI(x).sub(lazyJ(other)).square().mul(lazyJ(t)).sum('j'),
  'a sum over the own side': (t, x, other) =>
    lazyI(t)
      .mul(lazyI(x).sqdist(lazyJ(other)).neg().exp())
      .sum('j'),
  'gradients of distances': async (t, x, other) =>
    (await cdistBackward(await t.matmul(x, { transposeB: true }), x, other)).a,
  'gradients of a kernel': async (t, x, other) => {
    const upstream = await t.matmul(x, { transposeB: true });
    return (await runKernelBackward(kernels.gaussian, upstream, x, other, { bandwidth: 1.5 })).a;
  },
};

describe('a rule of the user that is linear by kernels', () => {
  it.each(Object.entries(RULES))('is turned round: %s', async (_, rule) => {
    const [x, other, e, y] = (await Promise.all(
      [1, 2, 3, 4].map((seed) => drawn([4, 3], [-1, 1], seed)),
    )) as [Floats, Floats, Floats, Floats];
    const ofTangents = customJvp(
      (v: Tensor) => v.square(),
      ([t], { args: [v] }) => rule(t as Floats, v as Floats, other) as Tensor,
    );
    const ofCotangents = customVjp(
      (v: Tensor) => v.square(),
      (g, { args: [v] }) => [rule(g as Floats, v as Floats, other)],
    );
    for (const f of [ofTangents, ofCotangents]) {
      const { tangent } = await jvp(async (v: Tensor) => f(v))([x], [e]);
      const { pull } = await vjp((v: Tensor) => f(v))(x);
      const back = await pull(y);
      // <y, J e> = <J^T y, e>
      const [there, here] = [tangent.mul(y).sum(), back.mul(e).sum()];
      expectClose([await here.item()], [await there.item()], 1e-12);
      expect(await there.abs().item()).toBeGreaterThan(1e-3);
    }
  });

  it('is refused where it is not: a kernel between tangents', async () => {
    const [x, y] = [await drawn([4, 3], [-1, 1], 1), await drawn([4, 3], [-1, 1], 2)];
    const rule = (t: Tensor): unknown => cdist(t as Floats, y).matmul(y);
    const f = customJvp(
      (v: Tensor) => v.square(),
      ([t]) => rule(t) as Tensor,
    );
    const { pull } = await vjp((v: Tensor) => f(v))(x);
    await expect(pull(y)).rejects.toThrow(/^customJvp: the rule is not linear in the tangents: /);
  });
});
