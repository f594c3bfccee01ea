import { differentiable, type DerivativeRule, type Value } from '@mercer/tensor/operation';
import { describe, expect, it } from 'vitest';
import { cdist, device, grad, tensor, valueAndGrad, vjp, type Tensor } from './index.js';

const cpu = device('cpu');

type Matrix = Tensor<'float32'>;

/** Numbers that differ from call to call. */
let seed = 0;
const numbers = (...shape: readonly number[]): Promise<Matrix> => {
  const count = shape.reduce((a, b) => a * b, 1);
  const all = Float32Array.from({ length: count }, () => Math.sin(12.9898 * ++seed));
  return Promise.resolve(tensor(all, { shape, device: 'cpu' }));
};

/** How often rules were called. */
let rules = 0;

const rule: DerivativeRule<readonly [x: Value]> = {
  isOfForms: true,
  vjp: (g) => {
    rules++;
    return [() => g.mul(2)];
  },
};
/** Twice of it. */
const twice = differentiable('twice', (x: Matrix): Value => x.mul(2), rule) as (
  x: Matrix | Promise<Matrix>,
) => Matrix;

type Loss = (...all: Matrix[]) => PromiseLike<Tensor>;

/** Losses with the shapes of what they are differentiated by. */
const LOSSES: readonly (readonly [string, Loss, readonly (readonly number[])[]])[] = [
  [
    'a network',
    (x, w, b, v) => twice(x).matmul(w).add(b).relu().matmul(v).logSoftmax(1).square().mean(),
    [[7, 6], [6, 5], [5], [5, 4]],
  ],
  ['a sum, whose gradient is the seed', (x) => twice(x).sum(), [[3, 4]]],
  ['a sum of two, with one gradient', (x, y) => twice(x.add(y)).sum(), [[3], [3]]],
  ['results that are read', (x, y) => twice(x).exp().mul(y.tanh()).sum(), [[3, 4], [4]]],
  [
    'views',
    (x, y) =>
      twice(x.transpose())
        .mul(y.permute([1, 0]))
        .broadcastTo([2, 3, 4])
        .square()
        .sum(2)
        .mean(),
    [
      [4, 3],
      [1, 3],
    ],
  ],
  ['moments', (x) => twice(x).var(1).add(x.norm(1)).mean(), [[3, 5]]],
];

/** But for how their kernels are put together. */
async function expectClose(found: Tensor, wanted: Tensor): Promise<void> {
  const numbers = (await wanted.toTypedArray()) as Float32Array;
  for (const [at, one] of ((await found.toTypedArray()) as Float32Array).entries())
    expect(Math.abs(one - numbers[at]!)).toBeLessThan(1e-6 * (1 + Math.abs(numbers[at]!)));
}

describe('a backward pass like one before', () => {
  it('holds nothing behind it, also where memory runs out in it', async () => {
    const run = valueAndGrad((v: Matrix, w: Matrix) => twice(v).matmul(w).exp().sum(), {
      argnums: [0, 1],
    });
    const given = [await numbers(64, 64), await numbers(64, 64)] as const;
    const once = async (): Promise<void> => {
      const { value, grad } = await run(...given);
      for (const one of [value, ...grad]) one.dispose();
    };
    for (let call = 0; call < 4; call++) await once();
    const { liveBytes, liveStorages } = cpu.memory();
    for (let call = 0; call < 500; call++) await once();
    expect(cpu.memory()).toMatchObject({ liveBytes, liveStorages });
    // room for the function and a part of the pass
    let refused = 0;
    for (let spare = 1; spare < 8; spare++) {
      cpu.memoryLimitBytes = liveBytes + spare * 64 * 64 * 4;
      await once().catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'OUT_OF_MEMORY' });
        refused++;
      });
      cpu.memoryLimitBytes = undefined;
      expect(cpu.memory()).toMatchObject({ liveBytes, liveStorages });
    }
    expect(refused).toBeGreaterThan(1);
    expect(refused).toBeLessThan(7);
  });

  it.each(LOSSES)('of %s gives what its rules give, without them', async (_, loss, shapes) => {
    const argnums = shapes.map((_, at) => at);
    const again = valueAndGrad(loss, { argnums });
    // who looks for NaN calls every rule
    const byRules = valueAndGrad(loss, { argnums, detectNaN: true });
    for (let call = 0; call < 6; call++) {
      const given = await Promise.all(shapes.map((shape) => numbers(...shape)));
      const wanted = await byRules(...given);
      const before = rules;
      const found = await again(...given);
      expect(rules - before).toBe(call < 2 ? 1 : 0);
      await expectClose(found.value, wanted.value);
      for (const [at, one] of found.grad.entries()) {
        expect(one.shape).toEqual(shapes[at]);
        expect(one.isContiguous && !one.storage.isShared).toBe(true);
        await expectClose(one, wanted.grad[at]!);
      }
    }
  });

  /** Makes it known. */
  async function known(run: () => unknown): Promise<void> {
    for (let call = 0; call < 3; call++) await run();
  }

  it('is another where numbers, tensors or what is shared differ', async () => {
    const slope = (x: Matrix, y: Matrix, by: number): Promise<Tensor> =>
      grad((v: Matrix) => v.mul(y).square().sum().mul(by))(x);
    const [x, y] = [await numbers(4), await numbers(4)];
    // two handles of one memory
    await known(() => slope(x, x.view(), 3));
    await known(() => slope(x, y, 3));
    const cases = [
      [x, x, 3],
      [x, y, 3],
      [y, x, 3],
      [y, y, 3],
      [x, y, 5],
      [x, x, -3],
    ] as const;
    for (const [a, b, by] of cases)
      await expectClose(await slope(a, b, by), await a.mul(2 * by).mul(b.square()));
  });

  it('refuses what was written since, an argument and a result', async () => {
    const [x, w] = [await numbers(2, 4), await numbers(4, 3)];
    let writes = false;
    const ofArgument = grad(async (v: Matrix) => {
      const value = await twice(v).matmul(w).sum();
      if (writes) await w.fill(0);
      return value;
    });
    await known(() => ofArgument(x));
    writes = true;
    await expect(ofArgument(x)).rejects.toMatchObject({ code: 'MODIFIED' });
    writes = false;
    (await ofArgument(x)).dispose();

    const { value, pull } = await vjp((v: Matrix) => twice(v).exp())(x);
    const cotangent = await numbers(2, 4);
    for (let call = 0; call < 4; call++) await pull(cotangent);
    await value.fill(0);
    await expect(pull(cotangent)).rejects.toMatchObject({ code: 'MODIFIED' });
  });

  it('waits for room, while callers dispose what they gave', async () => {
    // the last launch of the pass reads w where the caller has it
    const run = grad((v: Matrix, w: Matrix) => twice(v).mul(w.mul(3)).matmul(w).square().sum());
    const given = [await numbers(8, 8), await numbers(8, 8)] as const;
    await known(() => run(...given));
    const wanted = await (await run(...given)).toTypedArray();
    const [big, one] = [await numbers(3000, 200), await numbers(1)];
    // the pass begins where there is room for some of its launches, or all, or none
    for (let room = 1; room < 8; room++) {
      const all = given.map((tensor) => tensor.view()) as unknown as typeof given;
      const busy = cdist(big, big);
      while (cpu.defaultStream.inFlight < 256 - room) (await one.exp()).dispose();
      const found = run(...all);
      for (let turn = 0; turn < 50; turn++) await Promise.resolve();
      for (const tensor of all) tensor.dispose();
      expect(await (await found).toTypedArray()).toEqual(wanted);
      (await busy).dispose();
    }
  });

  it('stops at a signal', async () => {
    const x = await numbers(4);
    const stop = new AbortController();
    let stops = false;
    const run = grad(
      async (v: Matrix) => {
        const value = await twice(v).square().sum();
        if (stops) stop.abort();
        return value;
      },
      { signal: stop.signal },
    );
    await known(() => run(x));
    stops = true;
    await expect(run(x)).rejects.toThrow('aborted');
  });
});
