import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { drawn, expectClose } from '../../autodiff/test/differences.mjs';
import {
  calledMethod,
  functionNamed,
  FUNCTIONS,
  METHODS,
  type Floats,
} from './every-operation.test-support.js';
import {
  checkpoint,
  customJvp,
  customVjp,
  einsum,
  grad,
  isPending,
  isTensor,
  kernels,
  lazyI,
  lazyJ,
  lazyPair,
  matmul,
  param,
  runKernel,
  startProfile,
  vmap,
  weightedDifferences,
  type MercerError,
  type Tensor,
} from './index.js';

beforeAll(() => vi.stubEnv('MERCER_CPU', 'interpreted'));
afterAll(() => vi.unstubAllEnvs());

type Call = (x: Tensor) => unknown;

/** Functions that are called for one example after the other. */
const EACH = ['unique'];

/** The tensors of a result, by their names. */
const tensorsOf = (result: object): readonly (readonly [string, Tensor])[] =>
  'dtype' in result ? [['', result as Tensor]] : Object.entries(result as Record<string, Tensor>);

const numbers = async (x: Tensor): Promise<Float64Array> =>
  Float64Array.from(await x.toTypedArray(), Number);

/** What a call of one example after the other gives, or the code of its error. */
async function loop(
  f: Call,
  x: Tensor,
): Promise<readonly (readonly [string, Tensor])[][] | string> {
  try {
    const all: (readonly [string, Tensor])[][] = [];
    for (let k = 0; k < (x.shape[0] ?? 0); k++)
      all.push([...tensorsOf((await f(x.slice(k))) as object)]);
    return all;
  } catch (error) {
    return (error as MercerError).code;
  }
}

/** 'right' where `vmap` gives what a loop gives, or the code with which both refuse. */
async function outcome(f: Call): Promise<string> {
  const x = await drawn([4, 3, 3], [0.2, 0.8], 3);
  const expected = await loop(f, x);
  const run = vmap(async (one: Tensor) => (await f(one)) as Tensor);
  if (typeof expected === 'string') {
    await expect(run(x)).rejects.toThrow(expect.objectContaining({ code: expected }) as Error);
    return expected;
  }
  const given = tensorsOf(await run(x));
  const [first = []] = expected;
  expect(given.map(([name]) => name).sort()).toEqual(first.map(([name]) => name).sort());
  for (const [name, value] of given) {
    const parts = expected.map((one) => one.find(([own]) => own === name)?.[1] as Tensor);
    expect([name, value.dtype, value.shape]).toEqual([
      name,
      parts[0]?.dtype,
      [parts.length, ...(parts[0]?.shape ?? [])],
    ]);
    const all = await Promise.all(parts.map(numbers));
    expectClose(
      await numbers(value),
      all.flatMap((one) => [...one]),
      1e-12,
    );
  }
  return 'right';
}

/** Names by outcome. */
async function outcomes(
  calls: Readonly<Record<string, Call>>,
): Promise<Readonly<Record<string, readonly string[]>>> {
  const found: Record<string, string[]> = {};
  for (const [name, call] of Object.entries(calls)) {
    try {
      (found[await outcome(call)] ??= []).push(name);
    } catch (error) {
      throw new Error(name, { cause: error });
    }
  }
  return found;
}

const callsOf = (
  table: object,
  call: (name: string, x: Floats) => Promise<unknown>,
): Readonly<Record<string, Call>> =>
  Object.fromEntries(Object.keys(table).map((name) => [name, (x) => call(name, x as Floats)]));

/** Functions that give tensors alone: a solver also tells how it ended. */
const { cg: _, minres: _m, gmres: _g, lsqr: _q, lsmr: _r, ...TENSORS_ALONE } = FUNCTIONS;

/** All results of a function. */
const whole = async (name: string, x: Floats): Promise<unknown> =>
  functionNamed(name)(...((await FUNCTIONS[name]?.(x)) ?? []));

/** Calls with one argument of an example, and the others of what all examples share. */
async function withSharedArguments(): Promise<Readonly<Record<string, Call>>> {
  const calls: Record<string, Call> = {};
  const other = await drawn([3, 3], [0.2, 0.8], 9);
  const hasTensor = (one: unknown): boolean =>
    isTensor(one) ||
    isPending(one) ||
    (typeof one === 'object' && one !== null && Object.values(one).some(hasTensor));
  for (const [name, argsOf] of Object.entries(TENSORS_ALONE)) {
    const shared = await argsOf(other);
    const places = shared.flatMap((one, at) => (hasTensor(one) ? [at] : []));
    if (places.length < 2) continue;
    for (const at of places) {
      calls[`${name} ${at}`] = async (x) => {
        const given = await argsOf(x as Floats);
        return functionNamed(name)(...shared.with(at, given[at]));
      };
    }
  }
  return calls;
}

describe('what is mapped is what a loop over the examples gives', () => {
  it('of a function', async () => {
    const { right = [], ...rest } = await outcomes(callsOf(TENSORS_ALONE, whole));
    expect(right.length).toBeGreaterThan(100);
    expect(rest).toEqual({ INVALID_ARGUMENT: ['tensor'] });
  });

  it.each(['cg', 'minres', 'gmres', 'lsqr', 'lsmr'])('of the solution of %s', async (name) => {
    const solution = async (x: Tensor): Promise<unknown> =>
      ((await whole(name, x as Floats)) as { readonly x: Tensor }).x;
    expect(await outcome(solution)).toBe('right');
  });

  it('of a method', async () => {
    const { copyFrom: _, fill: __, ...table } = METHODS;
    const { right = [], ...rest } = await outcomes(callsOf(table, calledMethod));
    expect(right.length).toBeGreaterThan(80);
    expect(rest).toEqual({});
  });

  it('of a function whose other arguments all examples share', async () => {
    const { right = [], ...rest } = await outcomes(await withSharedArguments());
    expect(right.length).toBeGreaterThan(60);
    expect(rest).toEqual({});
  });

  it('of matrix products with vectors, several axes and no rule of their own', async () => {
    const w = await drawn([3, 2], [0, 1], 4);
    const deep = await drawn([2, 3, 3], [0, 1], 5);
    const calls: Readonly<Record<string, Call>> = {
      matmul: (x) => matmul(x as Floats, w),
      batches: (x) => matmul(deep, x as Floats),
      both: async (x) => {
        const scaled: unknown = await deep.mul(x.sum());
        return matmul(scaled as Floats, x as Floats, { transposeB: true });
      },
      vector: (x) => matmul(x.slice(0) as Floats, w),
      einsum: (x) => einsum('...ij,jk', [x, w] as never),
      diagonal: (x) => einsum('ii->i', [x] as never),
      lower: (x) => x.diag(-1),
      upper: (x) => x.slice(0).diag(2),
      all: (x) => x.take([8, -9, 4]),
      ofScalars: (x) => x.sum().argMax(),
      keeps: (x) => x.sum().mean(undefined, { keepDims: true }),
      rows: (x) => x.transpose().slice(1).transpose(),
    };
    expect(await outcomes(calls)).toEqual({
      right: Object.keys(calls).filter((name) => name !== 'vector'),
      SHAPE_MISMATCH: ['vector'],
    });
  });
});

describe('the number of launches', () => {
  const launches = async (f: Call, size: number): Promise<number> => {
    const x = await drawn([size, 3, 3], [0.2, 0.8], 3);
    const run = vmap(async (one: Tensor) => (await f(one)) as Tensor);
    // what a first call of a shape does more
    await run(x);
    const profile = startProfile();
    await run(x);
    return (await profile.stop()).length;
  };

  /** Names of calls whose launches are more for more examples. */
  async function growing(calls: Readonly<Record<string, Call>>): Promise<readonly string[]> {
    const found: string[] = [];
    for (const [name, call] of Object.entries(calls))
      if ((await launches(call, 5)) !== (await launches(call, 2))) found.push(name);
    return found;
  }

  it('does not grow with the number of examples, but for what is called for each', async () => {
    const { tensor: _, ...table } = TENSORS_ALONE;
    expect(await growing(callsOf(table, whole))).toEqual(EACH);
    const { copyFrom: __, fill: ___, ...methods } = METHODS;
    expect(await growing(callsOf(methods, calledMethod))).toEqual(['unique']);
  });

  it('does not grow for reductions of symbolic matrices, rules of the user and kernels with parameters', async () => {
    const other = await drawn([4, 3], [0, 1], 8);
    const width = await drawn([], [1, 2], 9);
    const rule = customVjp(
      (x: Tensor, y: Tensor) => x.mul(y.sum()),
      (g, { args: [x, y] }) => [g.mul(y.sum()), g.mul(x).sum().mul(y.mul(0).add(1))],
    );
    const ofTangents = customJvp(
      (x: Tensor) => x.square(),
      ([t], { args: [x] }) => x.mul(t).mul(2),
    );
    const shared = other as unknown as Tensor;
    const calls: Readonly<Record<string, (x: Floats) => PromiseLike<Tensor>>> = {
      sum: (x) => lazyI(x).sqdist(lazyJ(other)).neg().exp().sum('j'),
      ofBoth: (x) => lazyI(x).sqdist(lazyJ(x)).logSumExp('i'),
      joint: (x) => lazyI(other).sqdist(lazyJ(x)).min('j'),
      parameter: (x) =>
        lazyI(other)
          .mul(param(x.slice(0)))
          .sum('j'),
      pairs: (x) => lazyPair(x).mul(lazyJ(x)).sum('j'),
      numbers: (x) => lazyI(x).sqdist(lazyJ(other)).argMin('j'),
      rule: (x) => rule(x, shared),
      ofTangents: (x) => ofTangents(x),
      checkpoint: (x) => checkpoint((one: Tensor) => one.softmax().square())(x),
      norm: (x) => weightedDifferences(x, x, x, x, { p: x.mean().add(1) } as never),
      bandwidth: (x) => runKernel(kernels.gaussian, x, other, { bandwidth: x.mean() } as never), // prettier-ignore
      width: (x) => runKernel(kernels.gaussian, x, other, { bandwidth: width }),
    };
    const total = (f: (x: Floats) => PromiseLike<Tensor>) => async (x: Tensor) =>
      (await f(x as Floats)).mul(x.slice(0, 0)).sum();
    const all: Record<string, Call> = { ...(calls as Readonly<Record<string, Call>>) };
    for (const [name, f] of Object.entries(calls)) {
      if (['numbers', 'norm'].includes(name)) continue;
      all[`gradient of ${name}`] = grad(total(f));
      const slope = async (x: Tensor): Promise<Tensor> => (await grad(total(f))(x)).mul(x).sum();
      all[`second order of ${name}`] = grad(slope);
    }
    expect(await growing(all)).toEqual([]);
    const { right = [], ...rest } = await outcomes(all);
    expect([right.length, rest]).toEqual([Object.keys(all).length, {}]);
  });
});

describe('what overwrites a tensor', () => {
  it.each(['copyFrom', 'fill'])('is refused: %s', async (name) => {
    const x = await drawn([4, 3, 3], [0, 1], 3);
    const run = vmap(async (one: Tensor) => (await calledMethod(name, one as Floats)) as Tensor);
    await expect(run(x)).rejects.toThrow(
      expect.objectContaining({ code: 'NOT_DIFFERENTIABLE' }) as Error,
    );
  });
});

describe('examples of layers with matrix products', () => {
  it('have gradients of their own, those of a loop', async () => {
    const [w, v] = [await drawn([3, 4], [-1, 1], 1), await drawn([4, 1], [-1, 1], 2)];
    const loss = (p: readonly Tensor[], x: Tensor): PromiseLike<Tensor> =>
      matmul(matmul(x as never, p[0] as never).tanh() as never, p[1] as never)
        .square()
        .sum();
    const x = await drawn([5, 2, 3], [-1, 1], 3);
    const each = await vmap(grad(loss), { inAxes: [null, 0] })([w, v], x);
    for (let k = 0; k < 5; k++) {
      const one = await grad(loss)([w, v], x.slice(k));
      for (const [at, own] of one.entries())
        expectClose(await numbers((each[at] as Tensor).slice(k)), await numbers(own), 1e-12);
    }
  });
});
