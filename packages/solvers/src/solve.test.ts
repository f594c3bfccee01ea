import { grad } from '@mercer/autodiff';
import { lazyI, lazyJ } from '@mercer/lazy';
import { device, tensor, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { centralDifferences, expectClose } from '../../autodiff/test/differences.mjs';
import { memoryKept, NOTHING } from '../../tensor/test/memory-kept.mjs';
import { kernelSolve, NotConvergedError } from './index.js';
import {
  difference,
  float64,
  gaussian,
  matrixOf,
  nested,
  pointsOf,
  solved,
} from './testing/systems.test-support.js';

type Numbers = Tensor<'float64'>;

const cpu = device('cpu');
const N = 10;
const points = pointsOf(N);
const right = matrixOf(N, 3);
const TEXT = 'Exp(-SqDist(x, y)) * b';
const ALIASES = ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(3)'];
let x: Numbers;
let b: Numbers;

beforeAll(async () => {
  [x, b] = [await float64(points, cpu), await float64(right, cpu)];
});

const kernel = (of: Tensor) =>
  lazyI(of as Numbers)
    .sqdist(lazyJ(of as Numbers))
    .neg()
    .exp();

describe('solve of a symbolic matrix', () => {
  it('gives the solution with alpha on the diagonal', async () => {
    const found = await kernel(x).solve(b, { alpha: 0.1, rtol: 1e-12 });
    expect(difference(await nested(found), solved(gaussian(points, 0.1), right))).toBeLessThan(
      1e-10,
    );
  });

  it('adds 1e-10 where nothing is said', async () => {
    const far = await float64([[0], [10]], cpu);
    const ones = await tensor([1, 1], { device: cpu, dtype: 'float64' });
    const found = await (await kernel(far).solve(ones, { rtol: 1e-15 })).toNested<number[]>();
    expect(found[0]).toBe(1 / (1 + 1e-10));
  });

  it('throws with what was reached where it does not converge', async () => {
    const error = await kernel(x)
      .solve(b, { maxIterations: 3, rtol: 1e-12 })
      .then(
        () => undefined,
        (thrown: unknown) => thrown as NotConvergedError,
      );
    expect(error).toBeInstanceOf(NotConvergedError);
    expect(error?.code).toBe('NOT_CONVERGED');
    expect(error?.message).toMatch(
      /^solve: after 3 iterations the relative residual is \d\.\d+\. /,
    );
    expect(error?.solution.x.shape).toEqual([N, 3]);
    expect(error?.solution.iterations).toBe(3);
  });

  it('is differentiated by alpha', async () => {
    const alpha = await tensor(0.2, { device: cpu, dtype: 'float64' });
    const of = async (a: Tensor): Promise<Tensor> => {
      const found = await kernel(x).solve(b, { alpha: a as Numbers, rtol: 1e-13 });
      return found.square().sum();
    };
    const found = await (await grad(of)(alpha)).toTypedArray();
    expectClose(Float64Array.from(found, Number), await centralDifferences(of, [alpha], 0), 1e-6);
  });

  it('keeps no memory', async () => {
    const call = async (): Promise<void> => {
      (await kernel(x).solve(b, { alpha: 0.1 })).dispose();
    };
    await call();
    expect(await memoryKept(cpu, call)).toEqual(NOTHING);
  });
});

describe('kernelSolve', () => {
  it.each(['j', 1] as const)('solves a system in text, summed over %s', async (axis) => {
    const solve = kernelSolve(TEXT, ALIASES, 'b', { axis });
    const found = await nested(await solve([x, x, b], { alpha: 0.1, rtol: 1e-12 }));
    expect(difference(found, solved(gaussian(points, 0.1), right))).toBeLessThan(1e-9);
  });

  it('sums over i where nothing is said, as KeOps', async () => {
    const solve = kernelSolve(TEXT, ['x = Vi(1)', 'y = Vj(1)', 'b = Vi(3)'], 'b');
    const found = await nested(await solve([x, x, b], { alpha: 0.1, rtol: 1e-12 }));
    expect(difference(found, solved(gaussian(points, 0.1), right))).toBeLessThan(1e-9);
  });

  it('components that the formula mixes are one system', async () => {
    // b + reversed b / 2, of each row alone
    const text =
      'IfElse(-SqDist(x, y), b + Concat(Elem(b, 1), Elem(b, 0)) / IntCst(2), IntCst(0) * b)';
    const solve = kernelSolve(text, ['x = Vi(1)', 'y = Vj(1)', 'b = Vj(2)'], 'b', { axis: 'j' });
    const found = await nested(
      await solve([x, x, b.slice(null, [0, 2])], { alpha: 0, rtol: 1e-13 }),
    );
    const expected = right.map(([one = 0, two = 0]) => [
      (one - two / 2) / 0.75,
      (two - one / 2) / 0.75,
    ]);
    expect(difference(found, expected)).toBeLessThan(1e-12);
  });

  it('is differentiated by its tensors', async () => {
    const solve = kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' });
    const of = async (one: Tensor): Promise<Tensor> => {
      const y = one as Numbers;
      return (await solve([y, y, b], { alpha: 0.3, rtol: 1e-13 })).square().sum();
    };
    const found = await (await grad(of)(x)).toTypedArray();
    expectClose(Float64Array.from(found, Number), await centralDifferences(of, [x], 0), 1e-6);
  });

  it.each<[string, () => unknown, string]>([
    ['an unknown that is no alias', () => kernelSolve(TEXT, ALIASES, 'c'), 'the unknown is "c"'],
    [
      'too few arguments',
      () => kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' })([x, b]),
      'the arguments are 2 tensors',
    ],
    [
      'a batch',
      () => kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' })([x, x, b.reshape([1, N, 3])]),
      'without a batch',
    ],
  ])('refuses %s', async (_, call, said) => {
    await expect((async () => call())()).rejects.toThrow(said);
  });

  it('keeps no memory', async () => {
    const solve = kernelSolve(TEXT, ALIASES, 'b', { axis: 'j' });
    const call = async (): Promise<void> => {
      (await solve([x, x, b], { alpha: 0.1 })).dispose();
    };
    await call();
    expect(await memoryKept(cpu, call)).toEqual(NOTHING);
  });
});
