import {
  cg,
  checkGradients,
  clipByGlobalNorm,
  countRows,
  customVjp,
  denseOperator,
  eye,
  functional,
  grad,
  layers,
  losses,
  perSampleGradients,
  random,
  scan,
  sgd,
  shampoo,
  stopGradient,
  tensor,
  vmap,
  where,
  withStatistics,
  zeros,
  type Tensor,
} from '@mercer/core';
import { expect, it } from 'vitest';

const cpu = { device: 'cpu' } as const;

it.each([
  [2, 2],
  [3, 2],
])('a mask of a batch of %i is the same for all of %i heads', async (batch, heads) => {
  const layer = layers.multiHeadAttention({ features: 4, heads });
  const params = await layer.init(random.key(1), cpu);
  const x = await random.normal([batch, 3, 4], { key: random.key(2), ...cpu });
  const rows = Array.from({ length: batch }, (_, k) => [[true, true, k > 0]]);
  const mask = await tensor(rows, cpu);
  const all = await layer.apply(params, x, { mask });
  for (let k = 0; k < batch; k++) {
    const alone = await layer.apply(params, x.slice(k), { mask: mask.slice(k) });
    expect(await all.slice(k).sub(alone).abs().max().item()).toBeLessThan(1e-6);
  }
});

it('a layer of as many constants as there are examples is no layer of the examples', async () => {
  const params = {
    body: await tensor([[1, 0, 0.5], [0.5, 1, -1]], cpu), // prettier-ignore
    classes: await tensor([[1, 2], [3, 4], [-1, 0.5]], cpu), // prettier-ignore
  };
  const ids = await tensor(Int32Array.of(0, 1, 2), cpu);
  const loss = (p: typeof params, x: Tensor, y: Tensor) => {
    const scores = functional.linear(x, p.body);
    return losses.crossEntropy(
      scores.matmul(functional.embedding(ids, p.classes).transpose()),
      y,
    ) as never;
  };
  const x = await random.normal([3, 3], { key: random.key(3), ...cpu });
  const y = await tensor(Int32Array.of(0, 1, 2), cpu);
  const [own, mapped] = await Promise.all([
    perSampleGradients(loss, params, x, y),
    perSampleGradients(loss, params, x, y, { method: 'vmap' }),
  ]);
  expect(await own.classes.sub(mapped.classes).abs().max().item()).toBeLessThan(1e-6);
});

it('layers without a gradient have zeros among statistics and gradients of examples', async () => {
  const layer = layers.linear({ inputs: 2, outputs: 3 });
  const params = await layer.init(random.key(1), cpu);
  const x = await random.normal([5, 2], { key: random.key(2), ...cpu });
  const loss = (p: typeof params, input: Tensor) =>
    layer
      .apply(p, input)
      .sub(stopGradient(layer.apply(p, input) as Tensor).mul(0.5))
      .square()
      .mean() as never;
  const expected = await grad(loss)(params, x);
  const found = await withStatistics(loss)(params, x);
  const each = await perSampleGradients(loss, params, x, undefined);
  for (const weight of [found.grad.weight, await each.weight.mean(0)])
    expect(await weight.sub(expected.weight).abs().max().item()).toBeLessThan(1e-6);
});

it('an error of a layer with a state is heard once', async () => {
  const norm = layers.batchNorm({ features: 2 });
  const params = await norm.init(random.key(1), cpu);
  const state = await norm.initState(cpu);
  const x = await tensor([[1, 2, 3], [4, 5, 6]], cpu); // prettier-ignore
  await expect(layers.withState(norm)(params, x, { state })).rejects.toMatchObject({
    code: 'SHAPE_MISMATCH',
  });
  await new Promise((resolve) => setTimeout(resolve, 20)); // an unhandled rejection would end the run
});

it('losses near 0 keep their digits, and are float32 where scores have 16 bits', async () => {
  const logits = await tensor([10, 17, -17, 0], cpu);
  const target = await tensor([1, 1, 0, 1], cpu);
  const each = losses.binaryCrossEntropyWithLogits(logits, target, { reduction: 'none' });
  const wanted = [10, 17, 17, 0].map((x) => Math.log1p(Math.exp(-x)));
  for (const [k, one] of (await each.toNested<number[]>()).entries())
    expect(Math.abs(one / (wanted[k] ?? 0) - 1)).toBeLessThan(1e-6);
  const slope = await grad((x: Tensor) =>
    losses.binaryCrossEntropyWithLogits(x, target, { reduction: 'sum' }),
  )(logits);
  expect((await slope.toNested<number[]>())[3]).toBe(-0.5); // in the middle of both formulas
  const scores = await tensor([[1, 2, 3]], { ...cpu, dtype: 'bfloat16' });
  const label = await tensor(Int32Array.of(0), cpu);
  const loss = await losses.crossEntropy(scores, label);
  expect([loss.dtype, Number(await loss.item()).toFixed(4)]).toEqual(['float32', '2.4076']);
});

it('checkGradients finds a wrong rule beside an infinite value, and takes values that stay infinite', async () => {
  const wrong = customVjp(
    (x: Tensor) => x.square(),
    (g, { args: [x] }) => [g.mul(x).mul(7)],
  );
  const x = await tensor([1, 2], cpu);
  const key = random.key(1);
  await expect(
    checkGradients((v: Tensor) => ({ a: wrong(v), b: v.sub(1).reciprocal() }), [x], { key }),
  ).rejects.toMatchObject({ code: 'GRADIENT_MISMATCH' });
  const mask = await tensor([true, false], cpu);
  await checkGradients((v: Tensor) => where(mask, v.square(), -Infinity), [x], { key });
});

it('counts are mapped, and constants of a gradient', async () => {
  const labels = await tensor([[0, 1], [2, 2]], { ...cpu, dtype: 'int32' }); // prettier-ignore
  const counts = await vmap((one: Tensor<'int32'>) => countRows(one, 3))(labels);
  expect(await counts.toNested()).toEqual([
    [1, 1, 0],
    [0, 0, 2],
  ]);
  const ofFirst = grad(async (x: Tensor) =>
    x.mul(await countRows(x.argMax(0, { keepDims: true }) as never, 3)).sum(),
  );
  expect(await (await ofFirst(await tensor([1, 2, 3], cpu))).toNested()).toEqual([0, 0, 1]);
});

it('gradients of norms are finite for the least numbers, and 0 at zeros below ord 1', async () => {
  const small = await tensor([3e-310, 4e-310], { ...cpu, dtype: 'float64' });
  const slopes = await (await grad((x: Tensor) => x.norm())(small)).toNested<number[]>();
  expect(slopes.map((one) => one.toFixed(6))).toEqual(['0.600000', '0.800000']);
  const sparse = await tensor([0, 4], cpu);
  const half = await grad((x: Tensor) => x.norm(0, { ord: 0.5 }))(sparse);
  expect(await half.toNested()).toEqual([0, 1]);
});

it('a step whose norm is beyond float64 is skipped, and whole numbers are not clipped', async () => {
  const where64 = { ...cpu, dtype: 'float64' } as const;
  const [p, g] = [await tensor([1, 2], where64), await tensor([3e200, 4e200], where64)];
  const optimiser = sgd({ lr: 1, maxGradNorm: 1 });
  using state = await optimiser.init(p);
  const { skipped } = await optimiser.step(p, g, state);
  expect([await skipped.item(), await p.toNested()]).toEqual([1, [1, 2]]);
  const strict = sgd({ lr: 1, maxGradNorm: 1, nonFinite: 'throw' });
  using other = await strict.init(p);
  await expect(strict.step(p, g, other)).rejects.toThrow(/norm of all gradients.* beyond float64/);
  const whole = await tensor(Int32Array.of(3, 4), cpu);
  await expect(clipByGlobalNorm(whole, 1)).rejects.toMatchObject({ code: 'DTYPE_MISMATCH' });
  expect(await whole.toNested()).toEqual([3, 4]);
});

it('solvers and loops hear of every argument that fails', async () => {
  const a = denseOperator(await eye(2, cpu));
  const late = random.permutation(100_000, { key: random.key(1), ...cpu });
  const b = late.cast('float32').slice([0, 2]);
  await expect(cg(a, b, { x0: zeros([2], cpu).reshape([7]) })).rejects.toMatchObject({
    code: 'SHAPE_MISMATCH',
  });
  let step = 0;
  const rows = await tensor([1, 2, 3], cpu);
  const loop = scan(
    (sum: Tensor, x: Tensor) => [sum.add(x), step++ === 0 ? undefined : x] as const,
    await tensor(0, cpu),
    rows,
  );
  await expect(loop).rejects.toMatchObject({ code: 'SHAPE_MISMATCH' });
});

it.each([{}, { root: 'qr' }, { root: 'newton' }] as const)(
  'the first step of shampoo goes along the gradient of a vector: %o',
  async (options) => {
    const g = await random.normal([200], { key: random.key(1), ...cpu });
    const p = await zeros([200], cpu);
    const optimiser = shampoo({ lr: 1, ...options });
    using state = await optimiser.init(p);
    await optimiser.step(p, g, state);
    const cosine = p.mul(g).sum().div(p.norm().mul(g.norm()));
    expect(await cosine.item()).toBeLessThan(-0.999);
  },
);
