import { assert, describe, expect, it } from 'vitest';
import { MercerError, type Device, type Tensor } from '@mercer/tensor';
import { normalValues } from './cdist-reference.test-support.js';
import * as pairwise from './index.js';
import type { AnyRunKernelOptions } from './index.js';
import {
  CASES,
  of,
  product,
  sum,
  type Case,
  type Numbers,
} from './run-kernel-backward-cases.test-support.js';
import {
  backward,
  DTYPES,
  expectClose,
  maker,
  moved,
  read,
  rowsOf,
  slope,
  UNIT,
} from './run-kernel-backward-checks.test-support.js';
import { describeBackwardParameters } from './run-kernel-backward-parameters.test-support.js';
import { covering } from './together.test-support.js';

/** Options of a call from numbers; those of a custom kernel have a place of their own. */
function optionsOf({ descriptor, fixed = {} }: Case, parameters: object): AnyRunKernelOptions {
  const custom = typeof descriptor.kernel !== 'string';
  const epsilon = descriptor.innerOperator === 'diff' ? { epsilon: 0 } : {};
  return {
    ...epsilon,
    ...fixed,
    ...(custom ? { parameters: { ...parameters } } : parameters),
  };
}

const labelOf = ({ descriptor }: Case, name: string): string =>
  typeof descriptor.kernel === 'string' ? name : `parameters.${name}`;

/** What `runKernelBackward` promises, for one device. `full`: all of what is else a covering part. */
export function describeRunKernelBackward(
  device: () => Device,
  { full }: { readonly full: boolean },
): void {
  const make = maker(device);

  it.each(CASES)('$name: every gradient is the slope of the kernel', async (each) => {
    const [m, n, k] = [5, 7, 4];
    const [a, b, g] = [normalValues(m * k, 1), normalValues(n * k, 2), normalValues(m * n, 3)];
    const loss = (x: Float64Array, y: Float64Array, q: Numbers): number => {
      const [left, right] = [rowsOf(x, k), rowsOf(y, k)];
      return sum(
        left.flatMap((row, i) =>
          right.map((other, j) => (g[i * n + j] ?? NaN) * each.reference(row, other, q)),
        ),
      );
    };
    const q = each.parameters;
    const names = Object.keys(q);
    const wrt = ['a', 'b', ...names.map((name) => labelOf(each, name))];
    const want: Record<string, number[]> = {
      a: [...a.keys()].map((i) => slope((by) => loss(moved(a, i, by), b, q))),
      b: [...b.keys()].map((i) => slope((by) => loss(a, moved(b, i, by), q))),
    };
    for (const name of names) {
      want[labelOf(each, name)] = [slope((by) => loss(a, b, { ...q, [name]: of(q, name) + by }))];
    }
    // The derivation is the same for both types: float32 for one kernel of each kind.
    for (const dtype of each.float32 === true ? DTYPES : DTYPES.slice(0, 1)) {
      const tensors = [
        await make(g, [m, n], dtype),
        await make(a, [m, k], dtype),
        await make(b, [n, k], dtype),
      ] as const;
      const result = await backward(each.descriptor, ...tensors, optionsOf(each, q), wrt);
      expect(Object.keys(result).sort()).toEqual([...wrt].sort());
      for (const name of wrt) {
        const limit = dtype === 'float64' ? 1e-6 : 256 * UNIT.float32;
        expectClose(
          `${each.name} ${dtype} d${name}`,
          await read(result, name),
          want[name] ?? [],
          limit,
        );
      }
      for (const name of names) expect(result[labelOf(each, name)]?.shape).toEqual([]);
    }
  });

  const roles = CASES.filter(({ name }) => !name.includes('polynomial'));
  it.each(covering(roles, 0, full))(
    '$name: one input has the gradient of both roles, and no NaN at equal rows',
    async (each) => {
      const [m, k] = [6, 3];
      const a = normalValues(m * k, 4).map((value, i) => (i < k ? 1 : value));
      a.copyWithin(k, 0, k);
      const g = await make(normalValues(m * m, 5), [m, m], 'float64');
      const x = await make(a, [m, k], 'float64');
      const y = await x.clone();
      const options = optionsOf(each, each.parameters);
      const names = Object.keys(each.parameters).map((name) => labelOf(each, name));
      const one = await backward(each.descriptor, g, x, undefined, options, ['a', ...names]);
      const two = await backward(each.descriptor, g, x, y, options, ['a', 'b', ...names]);
      const [da, db] = [await read(two, 'a'), await read(two, 'b')];
      expectClose(
        each.name,
        await read(one, 'a'),
        da.map((value, i) => value + (db[i] ?? NaN)),
        1e-13,
      );
      for (const name of names) {
        expectClose(`${each.name} ${name}`, await read(one, name), await read(two, name), 1e-13);
      }
      const all = [one, two].flatMap((result) =>
        Object.keys(result).map((name) => read(result, name)),
      );
      expect((await Promise.all(all)).flat().every(Number.isFinite)).toBe(true);
    },
  );

  it('takes parameters from memory, one per batch entry, and sums what was broadcast', async () => {
    const [l, m, n, k] = [3, 5, 6, 4];
    const bandwidths = [1.5, 2, 3];
    const [a, b, g] = [
      normalValues(l * m * k, 6),
      normalValues(n * k, 7),
      normalValues(l * m * n, 8),
    ];
    const x = await make(a, [l, m, k], 'float64');
    const y = await make(b, [n, k], 'float64');
    const upstream = await make(g, [l, m, n], 'float64');
    const bandwidth = await make(bandwidths, [l], 'float64');
    const alpha = await make([1.2], [1], 'float64');
    const wrt = ['a', 'b', 'bandwidth', 'alpha'];
    const kernel = pairwise.kernels.rationalQuadratic;
    const whole = await backward(kernel, upstream, x, y, { bandwidth, alpha }, wrt);
    expect(wrt.map((name) => whole[name]?.shape)).toEqual([[l, m, k], [n, k], [l], [1]]);
    const each = await Promise.all(
      bandwidths.map((value, i) =>
        backward(kernel, upstream.slice(i), x.slice(i), y, { bandwidth: value, alpha: 1.2 }, wrt),
      ),
    );
    const all = async (name: string): Promise<number[][]> =>
      Promise.all(each.map((result) => read(result, name)));
    const total = (lists: readonly number[][]): number[] =>
      (lists[0] ?? []).map((_, i) => sum(lists.map((list) => list[i] ?? NaN)));
    expectClose('a', await read(whole, 'a'), (await all('a')).flat(), 1e-13);
    expectClose('b', await read(whole, 'b'), total(await all('b')), 1e-13);
    expectClose(
      'bandwidth',
      await read(whole, 'bandwidth'),
      (await all('bandwidth')).flat(),
      1e-13,
    );
    expectClose('alpha', await read(whole, 'alpha'), total(await all('alpha')), 1e-13);
  });

  it('takes exponents from memory', async () => {
    const [l, m, n, k] = [3, 5, 6, 4];
    const norms = [0.5, 1, 2.5];
    const [a, b, g] = [
      normalValues(l * m * k, 6),
      normalValues(l * n * k, 7),
      normalValues(l * m * n, 8),
    ];
    b.set(a.subarray(0, k));
    const x = await make(a, [l, m, k], 'float64');
    const y = await make(b, [l, n, k], 'float64');
    const upstream = await make(g, [l, m, n], 'float64');
    const p = await make(norms, [l], 'float64');
    const wrt = ['a', 'b', 'p'];
    const whole = await backward(
      pairwise.kernels.minkowski,
      upstream,
      x,
      y,
      { p, epsilon: 0 },
      wrt,
    );
    for (const [i, value] of norms.entries()) {
      const inputs = [upstream.slice(i), x.slice(i), y.slice(i)] as const;
      const each = await backward(
        pairwise.kernels.minkowski,
        ...inputs,
        { p: value, epsilon: 0 },
        wrt,
      );
      for (const name of wrt) {
        const part = { [name]: whole[name]?.slice(i) as Tensor };
        expectClose(`${name} ${value}`, await read(part, name), await read(each, name), 1e-12);
      }
    }
  });

  it('gives a regularised diagonal to the regularization alone, or adds it', async () => {
    const [m, n, k] = [4, 6, 3];
    const [a, b, g] = [normalValues(m * k, 1), normalValues(n * k, 2), normalValues(m * n, 3)];
    const [x, y] = [await make(a, [m, k], 'float64'), await make(b, [n, k], 'float64')];
    const upstream = await make(g, [m, n], 'float64');
    const offset = { regularization: 0.1, regularizationOffset: [2, 1] } as const;
    const diagonal = [...g].filter((_, at) => (at % n) - Math.floor(at / n) === 1);
    const masked = g.map((value, at) => ((at % n) - Math.floor(at / n) === 1 ? 0 : value));
    const rest = await make(masked, [m, n], 'float64');
    const names = ['a', 'b', 'bandwidth'];
    for (const [descriptor, parameters, sets] of [
      [pairwise.kernels.gaussian, { bandwidth: 2 }, true],
      [pairwise.kernels.dot, {}, false],
    ] as const) {
      const wrt = sets ? names : ['a', 'b'];
      const epsilon = sets ? { epsilon: 0 } : {};
      const options = { ...parameters, ...epsilon };
      const got = await backward(descriptor, upstream, x, y, { ...options, ...offset }, [
        ...wrt,
        'regularization',
      ]);
      const want = await backward(descriptor, sets ? rest : upstream, x, y, options, wrt);
      for (const name of wrt) {
        expectClose(name, await read(got, name), await read(want, name), 1e-13);
      }
      expectClose('regularization', await read(got, 'regularization'), [sum(diagonal)], 1e-13);
    }
  });

  it('has the gradient of a regularization of 0, and that of a and b as without it', async () => {
    const [n, k] = [5, 3];
    const [a, b, g] = [normalValues(n * k, 1), normalValues(n * k, 2), normalValues(n * n, 3)];
    const [x, y] = [await make(a, [n, k], 'float64'), await make(b, [n, k], 'float64')];
    const upstream = await make(g, [n, n], 'float64');
    const diagonal = [...g].filter((_, at) => at % (n + 1) === 0);
    const { gaussian } = pairwise.kernels;
    const options = { bandwidth: 2, regularization: 0 };
    const got = await backward(gaussian, upstream, x, y, options, ['a', 'b', 'regularization']);
    const want = await backward(gaussian, upstream, x, y, { bandwidth: 2 }, ['a', 'b']);
    for (const name of ['a', 'b']) {
      expectClose(name, await read(got, name), await read(want, name), 1e-13);
    }
    expectClose('regularization', await read(got, 'regularization'), [sum(diagonal)], 1e-13);
  });

  it('goes through scale and the normalisation of rows', async () => {
    const [m, n, k] = [5, 6, 4];
    const [a, b, g] = [normalValues(m * k, 1), normalValues(n * k, 2), normalValues(m * n, 3)];
    const scale = [0.5, 2, 1, 3];
    a.fill(0, 0, k);
    const factors = Float64Array.from(scale);
    const loss = (x: Float64Array, y: Float64Array, f: Float64Array, one: boolean): number => {
      const apply = (values: Float64Array): number[][] =>
        rowsOf(values, k).map((row) => row.map((value, i) => value * (f[i] ?? NaN)));
      const [left, right] = [apply(x), apply(one ? x : y)];
      const width = right.length;
      return sum(
        left.flatMap((row, i) =>
          right.map((other, j) => {
            const lengths = Math.sqrt(product(row, row) * product(other, other));
            return lengths === 0 ? 0 : ((g[i * width + j] ?? NaN) * product(row, other)) / lengths;
          }),
        ),
      );
    };
    for (const one of [false, true]) {
      const upstream = await make(g.subarray(0, m * (one ? m : n)), [m, one ? m : n], 'float64');
      const x = await make(a, [m, k], 'float64');
      const y = one ? undefined : await make(b, [n, k], 'float64');
      const options = { scale: await make(scale, [k], 'float64') };
      const wrt = one ? ['a', 'scale'] : ['a', 'b', 'scale'];
      const result = await backward(pairwise.kernels.cosine, upstream, x, y, options, wrt);
      const da = [...a.keys()].map((i) =>
        // A row of zeros has no direction: its gradient is 0 by convention.
        i < k ? 0 : slope((by) => loss(moved(a, i, by), b, factors, one)),
      );
      expectClose('a', await read(result, 'a'), da, 1e-6);
      if (!one) {
        const db = [...b.keys()].map((i) => slope((by) => loss(a, moved(b, i, by), factors, one)));
        expectClose('b', await read(result, 'b'), db, 1e-6);
      }
      const ds = scale.map((_, i) => slope((by) => loss(a, b, moved(factors, i, by), one)));
      expectClose('scale', await read(result, 'scale'), ds, 1e-6);
      const plain = { ...optionsOf(CASES[7] as Case, { bandwidth: 2 }), scale: 1.5 };
      const single = await backward(pairwise.kernels.gaussian, upstream, x, y, plain, [
        'scale',
        'a',
      ]);
      expect(single['scale']?.shape).toEqual([]);
    }
  });

  it('loses nothing where points are close', async () => {
    const [x, y] = [
      await make([0.5], [1, 1], 'float32'),
      await make([0.5 + 2 ** -20], [1, 1], 'float32'),
    ];
    const one = await make([1], [1, 1], 'float32');
    for (const [descriptor, factor] of [
      [pairwise.kernels.matern32, 3],
      [pairwise.kernels.matern52, 5 / 3],
    ] as const) {
      const result = await backward(descriptor, one, x, y, { bandwidth: 1 }, ['a']);
      // d/da = -factor (a - b) e^-r at small r
      expectClose('close', await read(result, 'a'), [factor * 2 ** -20], 1e-5 / 2 ** -10);
      expect((await read(result, 'a'))[0]).toBeGreaterThan(factor * 2 ** -20 * 0.999);
    }
  });

  describeBackwardParameters(device, { full });

  it('says what is wrong', async () => {
    const g = await make([1], [1, 1], 'float32');
    const x = await make([1], [1, 1], 'float32');
    const codeOf = async (promise: Promise<unknown>): Promise<string> => {
      const error: unknown = await promise.catch((reason: unknown) => reason);
      assert(error instanceof MercerError, `expected a MercerError, got ${String(error)}`);
      return error.code;
    };
    const gaussian = { bandwidth: 1 };
    const wrong = (options: AnyRunKernelOptions, wrt: string[]): Promise<unknown> =>
      backward(pairwise.kernels.gaussian, g, x, undefined, options, wrt);
    expect(await codeOf(wrong(gaussian, ['b']))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(wrong(gaussian, ['degree']))).toBe('INVALID_ARGUMENT');
    const products = backward(pairwise.kernels.dot, g, x, undefined, {}, ['epsilon']);
    expect(await codeOf(products)).toBe('INVALID_ARGUMENT');
    expect(await codeOf(wrong(gaussian, ['scale']))).toBe('INVALID_ARGUMENT');
    expect(await codeOf(wrong({}, ['a']))).toBe('INVALID_ARGUMENT');
    const norm = backward(pairwise.kernels.minkowski, g, x, undefined, { p: Infinity }, ['p']);
    expect(await codeOf(norm)).toBe('INVALID_ARGUMENT');
    const other = await make([1, 2], [1, 2], 'float32');
    expect(await codeOf(backward(pairwise.kernels.dot, other, x, undefined, {}, ['a']))).toBe(
      'SHAPE_MISMATCH',
    );
  });
}

/** Names of the cases, so that a device's file can say what it ran. */
export const describeCases = (): void => {
  describe('cases', () => {
    it('cover every named kernel', () => {
      const named = CASES.map(({ descriptor }) => descriptor.kernel);
      for (const kernel of [
        'none',
        'laplace',
        'gaussian',
        'matern12',
        'matern32',
        'matern52',
      ] as const) {
        expect(named).toContain(kernel);
      }
      for (const kernel of ['cauchy', 'rationalQuadratic', 'inverseMultiquadric'] as const) {
        expect(named).toContain(kernel);
      }
      for (const kernel of ['cosine', 'polynomial', 'sigmoid'] as const) {
        expect(named).toContain(kernel);
      }
    });
  });
};
