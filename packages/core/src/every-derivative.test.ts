import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  drawn,
  expectClose,
  expectGradient,
  gradientCheck,
} from '../../autodiff/test/differences.mjs';
import {
  BINARY,
  called,
  calledMethod,
  CONSTANT,
  CONSTANT_BINARY,
  ELEMENTWISE,
  functionNamed,
  FUNCTIONS,
  METHODS,
  NO_OPERATIONS,
  READERS,
  words,
  type Floats,
} from './every-operation.test-support.js';
import * as mercer from './index.js';

const isFull = process.env['MERCER_TEST_FULL'] === '1';

const { grad, hvp, jvp, tensor } = mercer;

// Rules run on many small kernels: compiling them would take most of the time, and they have tests of their own.
beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

/** Backward functions that are differentiated. */
const PAIRWISE = ['cdistBackward', 'runKernelBackward'];

/** Functions that refuse to be differentiated, beside the backward functions. */
const REFUSED = ['conditionEstimate', 'refineEigenbasis', 'weightedDifferences'];

/** What `grad` makes of a call: 'right' where it agrees with differences. */
async function outcome(
  name: string,
  call: (name: string, x: Floats) => Promise<unknown>,
): Promise<string> {
  const f = async (x: mercer.Tensor): Promise<mercer.Tensor> => {
    const result = (await call(name, x as Floats)) as object;
    const [one] = ('dtype' in result ? [result] : Object.values(result)) as [mercer.Tensor];
    return one.mul(await drawn(one.shape, [0.5, 1.5], 7)).sum();
  };
  const x = await drawn([3, 3], [0.2, 0.8], 3);
  try {
    const found = Float64Array.from(await (await grad(f)(x)).toTypedArray(), Number);
    await expectGradient(found, f, [x], 0, 1e-6);
    const { tangent } = await jvp(f)([x], [x]);
    const along = x.mul(await tensor(found, { shape: x.shape, device: 'cpu' })).sum();
    expectClose([await tangent.item()], [await along.item()], 1e-10);
    return 'right';
  } catch (error) {
    const { code, message } = error as mercer.MercerError;
    const isRefused = code === 'NOT_DIFFERENTIABLE' || name === 'tensor';
    if (!isRefused && code !== 'INDEPENDENT') throw new Error(name, { cause: error });
    if (isRefused) expect(message).toContain(name === 'tensor' ? 'already' : name);
    return code;
  }
}

/** Names by outcome. */
async function outcomes(
  names: readonly string[],
  call: (name: string, x: Floats) => Promise<unknown>,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: Record<string, string[]> = {};
  for (const name of names) (found[await outcome(name, call)] ??= []).push(name);
  return found;
}

describe('no gradient is lost silently', () => {
  it('by a function', async () => {
    const { right = [], ...rest } = await outcomes(Object.keys(FUNCTIONS), called);
    expect(right.length).toBeGreaterThan(60);
    expect(rest).toEqual({
      INDEPENDENT: [...words(`${CONSTANT} ${CONSTANT_BINARY}`), 'argSort'],
      INVALID_ARGUMENT: ['tensor'],
      NOT_DIFFERENTIABLE: Object.keys(FUNCTIONS).filter(
        (name) => (name.endsWith('Backward') && !PAIRWISE.includes(name)) || REFUSED.includes(name),
      ),
    });
  });

  it('by a method', async () => {
    const { right = [], ...rest } = await outcomes(Object.keys(METHODS), calledMethod);
    expect(right.length).toBeGreaterThan(60);
    expect(rest).toEqual({
      INDEPENDENT: [
        ...words(`${CONSTANT} ${CONSTANT_BINARY}`),
        'all',
        'any',
        'argMax',
        'argMin',
        'argSort',
      ],
      NOT_DIFFERENTIABLE: ['copyFrom', 'fill'],
    });
  });

  it('of the second order neither: forwards over backwards and backwards twice', async () => {
    const calls = [
      ...Object.keys(FUNCTIONS).map((name) => [name, called] as const),
      // methods that are functions too are called as these, or both ways with MERCER_TEST_FULL=1
      ...Object.keys(METHODS)
        .filter((name) => isFull || !Object.hasOwn(FUNCTIONS, name))
        .map((name) => [name, calledMethod] as const),
    ];
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    const t = await drawn([3, 3], [-1, 1], 4);
    let count = 0;
    for (const [name, call] of calls) {
      // the square, so that what is linear has a second derivative too
      const f = async (v: mercer.Tensor): Promise<mercer.Tensor> => {
        const result = (await call(name, v as Floats)) as object;
        const [one] = ('dtype' in result ? [result] : Object.values(result)) as [mercer.Tensor];
        return one
          .mul(await drawn(one.shape, [0.5, 1.5], 7))
          .square()
          .sum();
      };
      const along = async (v: mercer.Tensor): Promise<mercer.Tensor> =>
        (await grad(f)(v)).mul(t).sum();
      const isRefused = await along(x).then(
        () => false,
        () => true,
      );
      if (isRefused) continue;
      count++;
      const check = await gradientCheck(along, [x], 0);
      const forwards = await hvp(f)(x, t);
      const backwards = await grad(along)(x);
      for (const [mode, one] of Object.entries({ forwards, backwards })) {
        const found = Float64Array.from(await one.toTypedArray(), Number);
        try {
          check(found, 1e-5);
        } catch (error) {
          throw new Error(`${name}, ${mode}`, { cause: error });
        }
      }
    }
    expect(count).toBeGreaterThan(isFull ? 120 : 95);
  });

  it('and every function and method is among them', async () => {
    const functions = Object.entries(mercer)
      .filter(([name, one]) => typeof one === 'function' && !/^[A-Z]/.test(name))
      .map(([name]) => name);
    expect([...Object.keys(FUNCTIONS), ...NO_OPERATIONS].sort()).toEqual(functions.sort());
    const members = new Set<string>();
    for (let at: object = await drawn([1], [0, 1]); at !== Object.prototype;) {
      for (const name of Object.getOwnPropertyNames(at)) members.add(name);
      at = Object.getPrototypeOf(at) as object;
    }
    expect([...Object.keys(METHODS), ...READERS].sort()).toEqual([...members].sort());
  });

  it('by what is prepared, or written into a tensor that exists', async () => {
    const x = await drawn([3, 3], [0.2, 0.8], 3);
    const refusal = expect.objectContaining({ code: 'NOT_DIFFERENTIABLE' }) as Error;
    const prepared = Object.keys(FUNCTIONS).filter((name) => functionNamed(name).prepare);
    expect(prepared.length).toBeGreaterThan(30);
    for (const name of prepared) {
      const f = async (one: mercer.Tensor): Promise<never> =>
        functionNamed(name).prepare?.(...((await FUNCTIONS[name]?.(one as Floats)) ?? [])) as never;
      await expect(grad(f)(x), name).rejects.toThrow(refusal);
    }
    const out = await drawn([3, 3], [0, 1]);
    const writing = words(`${ELEMENTWISE} ${BINARY} concat map matmul sumTo cholesky cdist clamp`);
    for (const name of writing) {
      const f = async (one: mercer.Tensor): Promise<never> => {
        const args = (await FUNCTIONS[name]?.(one as Floats)) ?? [];
        return functionNamed(name)(...args, { out }) as never;
      };
      await expect(grad(f)(x), name).rejects.toThrow(refusal);
      const into = async (one: mercer.Tensor): Promise<never> => {
        const args = (await FUNCTIONS[name]?.(out)) ?? [];
        return functionNamed(name)(...args, { out: one }) as never;
      };
      await expect(grad(into)(x), name).rejects.toThrow(refusal);
    }
    const copied = async (one: mercer.Tensor): Promise<mercer.Tensor> => out.copyFrom(one);
    await expect(grad(copied)(x)).rejects.toThrow(refusal);
  });
});
