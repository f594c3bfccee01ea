import { device, random, tensor, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import {
  checkGradients,
  customJvp,
  customVjp,
  hvp,
  type CheckGradientsOptions,
  type DerivativeMode,
} from './index.js';

const cpu = { device: 'cpu' } as const;
const key = random.key(7);
const errorOf = async (work: () => Promise<unknown>): Promise<{ code: string; message: string }> =>
  work().then(
    () => ({ code: 'nothing', message: '' }),
    (error: unknown) => error as { code: string; message: string },
  );

const accepts = async <A extends readonly unknown[]>(
  f: (...args: A) => unknown,
  args: A,
  options: CheckGradientsOptions,
): Promise<void> => {
  expect((await errorOf(() => checkGradients(f, args, options))).message).toBe('');
};

let x: Tensor<'float64'>;
let y: Tensor<'float64'>;

beforeAll(async () => {
  x = await tensor(Float64Array.of(0.3, 1.2, 2.5), cpu);
  y = await tensor(Float64Array.of(-1, 0.5, 2), cpu);
});

/** The square, with a slope that is wrong by a factor. */
const wrongSquare = (factor: number) =>
  customVjp(
    (v: Tensor) => v.square(),
    (g, { args: [v] }) => [g.mul(v).mul(2 * factor)],
  );

/** The square, with the right slope whose own slope is wrong. */
const wrongSlope = customVjp(
  (v: Tensor) => v.square(),
  (g, { args: [v] }) => [
    customVjp(
      (w: Tensor) => w.mul(2),
      (h) => [h],
    )(v).mul(g),
  ],
);

describe('checkGradients', () => {
  it('accepts derivatives that are right, of both orders, of trees and whole numbers', async () => {
    const whole = await tensor(Int32Array.of(1, 0, 2), cpu);
    const f = async (
      all: { a: Tensor; list: readonly Tensor[] },
      factor: number,
      n: Tensor,
    ): Promise<unknown> => ({
      product: await all.a
        .mul(all.list[0] as Tensor)
        .sin()
        .mul(factor),
      rest: [await all.a.softmax().mul(n), n],
    });
    await accepts(f, [{ a: x, list: [y] }, 3, whole], { key, order: 2 });
    await accepts(
      hvp((v: Tensor) => v.pow(3).sum()),
      [x, y],
      { key },
    );
  });

  it('accepts float32 with its own tolerance, and results of which the derivative is 0', async () => {
    const single = await x.cast('float32');
    await accepts((v: Tensor) => v.exp().mul(v.sin()), [single], { key, order: 2 });
    await accepts((v: Tensor) => v.cast('float32').exp(), [x], { key });
    await accepts((v: Tensor) => v.mul(0).add(1e6), [x], { key });
  });

  it('accepts what is large, and what is small beside other terms', async () => {
    const large = await tensor(Float64Array.of(1e6, -3e6), cpu);
    await accepts((v: Tensor) => v.square(), [large], { key, order: 2 });
    await accepts((v: Tensor) => v.mul(1e-12), [x], { key });
  });

  it.each<readonly [DerivativeMode]>([['vjp'], ['jvp']])(
    'says what is wrong, where, and by how much: %s',
    async (mode) => {
      const f = (a: { w: readonly Tensor[] }, b: Tensor): PromiseLike<Tensor> =>
        wrongSquare(1.001)(b).add(a.w[0] as Tensor);
      const { code, message } = await errorOf(() =>
        checkGradients(f, [{ w: [x] }, y], { key, modes: [mode] }),
      );
      expect(code).toBe('GRADIENT_MISMATCH');
      const said =
        /^checkGradients: argument 1, direction 0: (\w+) gives (\S+), and differences give (\S+): a relative error of (\S+), where 0.000001 is allowed/;
      const [, by, found, wanted, error] = said.exec(message) ?? [message];
      expect(by).toBe(mode);
      // the one is the other times what is wrong
      expect(Math.abs(Number(found) / Number(wanted) - 1.001)).toBeLessThan(1e-8);
      expect(Number(error)).toBeLessThanOrEqual(1e-3);
      expect(Number(error)).toBeGreaterThan(1e-6);
    },
  );

  it('is as strict as its tolerance', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => wrongSquare(1 + 1e-4)(v);
    expect((await errorOf(() => checkGradients(f, [x], { key }))).code).toBe('GRADIENT_MISMATCH');
    await checkGradients(f, [x], { key, tolerance: 1e-3 });
    const single = await x.cast('float32');
    await checkGradients(f, [single], { key });
    const tiny = (v: Tensor): PromiseLike<Tensor> => wrongSquare(2)(v).mul(1e-9);
    expect((await errorOf(() => checkGradients(tiny, [x], { key }))).code).toBe(
      'GRADIENT_MISMATCH',
    );
  });

  it('finds a second derivative that is wrong with order 2 alone', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => wrongSlope(v);
    await checkGradients(f, [x], { key });
    for (const mode of ['vjp', 'jvp'] as const) {
      const { code, message } = await errorOf(() =>
        checkGradients(f, [x], { key, order: 2, modes: [mode] }),
      );
      expect(code).toBe('GRADIENT_MISMATCH');
      expect(message).toMatch(
        /^checkGradients, second order by (vjp|jvp): argument 0, direction 0/,
      );
    }
  });

  it('finds NaN, and rules for tangents that are wrong', async () => {
    const nan = customJvp(
      (v: Tensor) => v.square(),
      ([t]) => t.mul(NaN),
    );
    const { code } = await errorOf(() => checkGradients((v: Tensor) => nan(v), [x], { key }));
    expect(code).toBe('GRADIENT_MISMATCH');
  });

  it('finds a constant that a rule adds, which no rule that is turned round has', async () => {
    const ofTangent = customJvp(
      (v: Tensor) => v.square(),
      ([t], { args: [v] }) => v.mul(t).mul(2).add(1),
    );
    const ofCotangent = customVjp(
      (v: Tensor) => v.square(),
      (g, { args: [v] }) => [v.mul(g).mul(2).add(1)],
    );
    const wrong: readonly (readonly [DerivativeMode, DerivativeMode, typeof ofTangent])[] = [
      ['jvp', 'vjp', ofTangent],
      ['vjp', 'jvp', ofCotangent],
    ];
    for (const [given, turned, f] of wrong) {
      const check = (mode: DerivativeMode) => () =>
        checkGradients((v: Tensor) => f(v), [x], { key, modes: [mode] });
      expect((await errorOf(check(given))).code).toBe('GRADIENT_MISMATCH');
      expect((await errorOf(check(turned))).code).toBe('nothing');
    }
  });

  it('is the same each time for a key, and another for another', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => wrongSquare(2)(v);
    const said = async (seed: number): Promise<string> =>
      (await errorOf(() => checkGradients(f, [x], { key: random.key(seed) }))).message;
    expect(await said(1)).toBe(await said(1));
    expect(await said(1)).not.toBe(await said(2));
  });

  it.each<readonly [name: string, options: object, args?: readonly unknown[]]>([
    ['no key', {}],
    ['an option that is none', { key, eps: 1 }],
    ['an order', { key, order: 3 }],
    ['a mode', { key, modes: ['back'] }],
    ['no mode', { key, modes: [] }],
    ['directions', { key, directions: 0 }],
    ['a tolerance', { key, tolerance: -1 }],
    ['arguments without a tensor', { key }, [3]],
    ['arguments that are no list', { key }, 3 as never],
  ])('refuses %s', async (_, options, args = [x]) => {
    const f = (v: Tensor): PromiseLike<Tensor> => v.square();
    const { code } = await errorOf(() => checkGradients(f, args as never, options as never));
    expect(code).toBe('INVALID_ARGUMENT');
  });

  it('keeps no memory', async () => {
    const f = (v: Tensor): PromiseLike<Tensor> => v.softmax().mul(v.norm());
    const wrong = (v: Tensor): PromiseLike<Tensor> => wrongSquare(2)(v);
    const run = async (): Promise<void> => {
      await checkGradients(f, [x], { key, order: 2 });
      await errorOf(() => checkGradients(wrong, [x], { key }));
    };
    await run();
    const kept = await memoryKept(device('cpu'), async () => {
      for (let k = 0; k < 3; k++) await run();
      await device('cpu').synchronize();
    });
    expect(kept).toEqual(NOTHING);
  });
});
