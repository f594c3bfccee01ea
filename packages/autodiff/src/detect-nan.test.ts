import { device, tensor, where, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { customVjp, grad, jvp, valueAndGrad, vjp } from './index.js';

const cpu = { device: 'cpu' } as const;
const detectNaN = true;
const messageOf = async (work: () => Promise<unknown>): Promise<string> =>
  work().then(
    () => 'nothing',
    (error: unknown) =>
      `${String((error as { code?: unknown }).code)} ${(error as Error).message.split(' elements')[0]}`,
  );

let x: Tensor<'float64'>;

beforeAll(async () => {
  x = await tensor(Float64Array.of(0, 1, 2), cpu);
});

/** What its rule gives at 0 is 0 / 0. */
const root = customVjp(
  (v: Tensor) => v.sqrt(),
  (g, { args: [v] }) => [g.mul(v).div(v.sqrt()).div(v).mul(0.5)],
);

describe('detectNaN', () => {
  it('names the first operation whose result has NaN, in every transform', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => v.sub(1).log().exp().mul(v.log()).sum();
    const found = 'log gave NaN in 1 of 3';
    expect(await messageOf(() => grad(f, { detectNaN })(x))).toBe(`NOT_A_NUMBER grad: ${found}`);
    expect(await messageOf(() => valueAndGrad(f, { detectNaN })(x))).toBe(
      `NOT_A_NUMBER valueAndGrad: ${found}`,
    );
    expect(await messageOf(() => vjp(f, { detectNaN })(x))).toBe(`NOT_A_NUMBER vjp: ${found}`);
    expect(await messageOf(() => jvp(async (v: Tensor) => f(v), { detectNaN })([x], [x]))).toBe(
      `NOT_A_NUMBER jvp: ${found}`,
    );
  });

  it('finds it where nobody differentiates, and in the arguments', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => where(v.sub(1).log().gt(0), v, v.square()).sum();
    expect(await messageOf(() => grad(f, { detectNaN })(x))).toMatch(
      /^NOT_A_NUMBER grad: log gave/,
    );
    const bad = await tensor(Float64Array.of(1, NaN), cpu);
    expect(await messageOf(() => grad((v: Tensor) => v.sum(), { detectNaN })(bad))).toBe(
      'NOT_A_NUMBER grad: argument 0 has NaN in 1 of 2',
    );
  });

  it('names the operation of which a gradient or tangent has it', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => root(v.mul(3) as unknown as Tensor).sum();
    expect(await (await grad(f)(x)).slice(0).item()).toBeNaN();
    expect(await messageOf(() => grad(f, { detectNaN })(x))).toBe(
      'NOT_A_NUMBER grad: the gradient of customVjp has NaN in 1 of 3',
    );
    const { value, pull, dispose } = await vjp(f, { detectNaN })(x);
    expect(await messageOf(async () => pull(await tensor(1, cpu)))).toMatch(
      /^NOT_A_NUMBER vjp: the gradient of customVjp has/,
    );
    value.dispose();
    dispose();
    const ones = await tensor(Float64Array.of(1, 1, 1), cpu);
    expect(await messageOf(() => jvp(async (v: Tensor) => f(v), { detectNaN })([x], [ones]))).toBe(
      'NOT_A_NUMBER jvp: the tangent of customVjp has NaN in 1 of 3',
    );
  });

  it('takes infinity as the value that it is: masks, and slopes at an end', async () => {
    const mask = await tensor(Float64Array.of(0, -Infinity, 0), cpu);
    const attention = (v: Tensor): PromiseLike<Tensor> => v.add(mask).softmax().slice(0);
    const plain = await (await grad(attention)(x)).toNested();
    expect(await (await grad(attention, { detectNaN })(x)).toNested()).toEqual(plain);
    const slope = await grad((v: Tensor) => v.log().sum(), { detectNaN })(x);
    expect(await slope.toNested()).toEqual([Infinity, 1, 0.5]);
  });

  it('inside another derivative too, and changes no result that is finite', async () => {
    const cubes = (v: Tensor): PromiseLike<Tensor> => v.pow(3).sum();
    const slope = async (v: Tensor): Promise<Tensor> => (await grad(cubes, { detectNaN })(v)).sum();
    expect(await (await grad(slope, { detectNaN })(x)).toNested()).toEqual([0, 6, 12]);
    const wrong = async (v: Tensor): Promise<Tensor> =>
      (await grad((w: Tensor) => w.sub(1).log().sum(), { detectNaN })(v)).sum();
    expect(await messageOf(() => grad(wrong)(x))).toMatch(/^NOT_A_NUMBER grad: log gave/);
  });

  it('is true or false', async () => {
    const message = 'INVALID_ARGUMENT jvp: detectNaN is 1. Pass true or false.';
    expect(
      await messageOf(async () => jvp(async (v: Tensor) => v, { detectNaN: 1 as never })),
    ).toBe(message);
    expect(await messageOf(async () => jvp(async (v: Tensor) => v, { nan: 1 } as never))).toMatch(
      /^INVALID_ARGUMENT jvp: there is no option 'nan'/,
    );
  });

  it('keeps no memory', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => root(v.mul(3) as unknown as Tensor).sum();
    const run = async (): Promise<void> => {
      await messageOf(() => grad(f, { detectNaN })(x));
      await messageOf(() => jvp(async (v: Tensor) => f(v), { detectNaN })([x], [x]));
      await messageOf(() => vjp((v: Tensor) => v.sub(1).log(), { detectNaN })(x));
      (await grad((v: Tensor) => v.exp().sum(), { detectNaN })(x)).dispose();
    };
    await run();
    const kept = await memoryKept(device('cpu'), async () => {
      for (let k = 0; k < 20; k++) await run();
      await device('cpu').synchronize();
    });
    expect(kept).toEqual(NOTHING);
  });
});
