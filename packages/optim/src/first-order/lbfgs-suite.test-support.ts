import type { Tree } from '@mercer/autodiff';
import { startProfile, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { lbfgs, type LbfgsOptions } from '../index.js';
import { TORCH } from './torch-values.test-support.js';

const BEGIN = [-1.2, 1, 0.5, -0.3, 0.8, 1.5];

/** Rosenbrock's function and its gradient, in float64. */
function rosenbrock(x: readonly number[]): { value: number; grad: number[] } {
  const grad = x.map(() => 0);
  let value = 0;
  for (let i = 0; i + 1 < x.length; i++) {
    const [a, b] = [x[i] ?? NaN, x[i + 1] ?? NaN];
    value += 100 * (b - a * a) ** 2 + (1 - a) ** 2;
    grad[i] = (grad[i] ?? 0) - 400 * a * (b - a * a) - 2 * (1 - a);
    grad[i + 1] = (grad[i + 1] ?? 0) + 200 * (b - a * a);
  }
  return { value, grad };
}

/** As two parameters, the second a matrix. */
interface Params {
  readonly a: Tensor;
  readonly rest: readonly [Tensor];
}

const inner = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, x, i) => sum + x * (b[i] ?? NaN), 0);

/** The method with a dense matrix: BFGS from a multiple of the identity over the last pairs (Nocedal and Wright 2006, 6.17 and 7.20). */
function denseDirection(
  grad: readonly number[],
  pairs: readonly { s: readonly number[]; y: readonly number[] }[],
): number[] {
  const n = grad.length;
  const last = pairs.at(-1);
  const scale = last === undefined ? 1 : inner(last.s, last.y) / inner(last.y, last.y);
  let inverse = Array.from({ length: n }, (_, i) =>
    Array.from({ length: n }, (_, j) => (i === j ? scale : 0)),
  );
  for (const { s, y } of pairs) {
    const rho = 1 / inner(s, y);
    const v = Array.from({ length: n }, (_, i) =>
      Array.from({ length: n }, (_, j) => (i === j ? 1 : 0) - rho * (y[i] ?? 0) * (s[j] ?? 0)),
    );
    const times = (a: number[][], b: number[][]): number[][] =>
      a.map((row) =>
        (b[0] ?? []).map((_, j) =>
          inner(
            row,
            b.map((one) => one[j] ?? NaN),
          ),
        ),
      );
    const turned = v.map((_, j) => v.map((row) => row[j] ?? NaN));
    inverse = times(turned, times(inverse, v)).map((row, i) =>
      row.map((x, j) => x + rho * (s[i] ?? 0) * (s[j] ?? 0)),
    );
  }
  return inverse.map((row) => -inner(row, grad));
}

/** Where so many steps of the method lead, of a gradient that the steps before and this one give. */
function denseSteps(
  lr: number,
  history: number,
  count: number,
  gradientAt = (x: readonly number[]): number[] => rosenbrock(x).grad,
): number[][] {
  let x = [...BEGIN];
  let grad = gradientAt(x);
  const pairs: { s: number[]; y: number[] }[] = [];
  return Array.from({ length: count }, (_, k) => {
    const direction = denseDirection(grad, pairs);
    const sum = grad.reduce((all, one) => all + Math.abs(one), 0);
    const t = k === 0 ? Math.min(1, 1 / sum) * lr : lr;
    const s = direction.map((one) => t * one);
    x = x.map((one, i) => one + (s[i] ?? NaN));
    const next = gradientAt(x);
    const y = next.map((one, i) => one - (grad[i] ?? NaN));
    if (inner(s, y) > 1e-10) pairs.push({ s, y });
    if (pairs.length > history) pairs.shift();
    grad = next;
    return x;
  });
}

/** L-BFGS, tested on any device. */
export function lbfgsSuite(name: string, device: () => Device): void {
  describe(`lbfgs on ${name}`, () => {
    const paramsOf = async (
      x: readonly number[],
      dtype: 'float32' | 'float64',
    ): Promise<Params> => {
      const where = { device: device(), dtype } as const;
      const [first, ...rest] = x;
      return {
        a: await tensor(first as number, where),
        rest: [await tensor(Float64Array.from(rest), { shape: [1, rest.length], ...where })],
      };
    };
    const read = async ({ a, rest: [b] }: Params): Promise<number[]> => [
      Number(await a.item()),
      ...Array.from((await b.toTypedArray()) as Float64Array, Number),
    ];
    const evaluated = async (params: Params) => {
      const { value, grad } = rosenbrock(await read(params));
      const { dtype } = params.a;
      return {
        value: (await tensor(value, { device: device(), dtype })) as Tensor,
        grad: await paramsOf(grad, dtype as 'float64'),
      };
    };
    const evaluate = (params: Tree) =>
      evaluated(params as unknown as Params) as Promise<{ value: Tensor; grad: Tree & Params }>;

    async function stepped(
      options: LbfgsOptions,
      steps: number,
      dtype: 'float32' | 'float64',
    ): Promise<number[][]> {
      const params = await paramsOf(BEGIN, dtype);
      const optimiser = lbfgs(options);
      using state = await optimiser.init(params as never);
      const points: number[][] = [];
      for (let step = 0; step < steps; step++) {
        const { value, grad } = await evaluate(params as never);
        const { skipped } = await optimiser.step(params as never, grad, state, { value, evaluate });
        expect(await skipped.item()).toBe(0);
        points.push(await read(params));
      }
      expect(await state.tensors.get('count')?.item()).toBe(steps);
      return points;
    }

    const close = (
      found: readonly number[][],
      wanted: readonly (readonly number[])[],
      within: number,
    ) => {
      expect(found.length).toBe(wanted.length);
      for (const [step, one] of wanted.entries()) {
        for (const [i, x] of one.entries()) {
          const error = Math.abs((found[step]?.[i] ?? NaN) - x);
          if (error <= within * Math.max(1, Math.abs(x))) continue;
          expect.fail(`step ${step + 1}, element ${i}: ${found[step]?.[i]} for ${x}`);
        }
      }
    };

    it.each(TORCH.lbfgs)('takes the steps of torch with $options', async ({ options, points }) => {
      close(await stepped(options, points.length, 'float64'), points, 1e-7);
      close(
        (await stepped(options, points.length, 'float64')).slice(0, 8),
        points.slice(0, 8),
        1e-10,
      );
    });

    it('takes the steps of the formulas with a dense matrix', async () => {
      const [lr, history] = [5e-4, 4];
      const wanted = denseSteps(lr, history, 20);
      const options = { lr, history, lineSearch: 'none', maxIterations: 1 } as const;
      close(await stepped(options, 20, 'float64'), wanted, 1e-10);
      close(await stepped(options, 20, 'float32'), wanted, 1e-4);
    });

    it('takes the same steps where pairs are in several launches, and where one is kept', async () => {
      for (const history of [1, 2, 11, 25]) {
        const options = { lr: 5e-4, history, lineSearch: 'none' } as const;
        const one = { ...options, maxIterations: 1 };
        const points = await stepped(one, 30, 'float64');
        const many = { ...options, maxIterations: 30, maxEvaluations: 1000, toleranceChange: 0 };
        close([points[29] as number[]], await stepped(many, 1, 'float64'), 1e-12);
        const wanted = denseSteps(5e-4, history, 30);
        close(points, wanted, 1e-10);
      }
    });

    it('launches as much with ten pairs as with one, and keeps no memory', async () => {
      const w = await tensor(Float32Array.from(BEGIN), { device: device() });
      const optimiser = lbfgs({ lr: 5e-4, lineSearch: 'none', maxIterations: 1 });
      using state = await optimiser.init(w);
      const launches: number[] = [];
      const live: number[] = [];
      for (let step = 1; step <= 14; step++) {
        const { grad } = rosenbrock(Array.from(await w.toTypedArray()));
        using g = await tensor(Float32Array.from(grad), { device: device() });
        const profile = startProfile();
        (await optimiser.step(w, g, state)).skipped.dispose();
        launches.push((await profile.stop()).length);
        live.push(device().memory().liveBytes);
      }
      // as many as the kernels of the CPU, where a largest element and inner products are several
      expect(launches.slice(1)).toEqual(Array.from({ length: 13 }, () => launches[1]));
      expect(launches[1]).toBeLessThanOrEqual(14);
      expect(new Set(live.slice(2)).size).toBe(1);
    });

    it('drops a pair without curvature, however many there are', async () => {
      const [lr, count] = [5e-4, 20];
      for (const history of [1, 2, 11]) {
        const given: number[][] = [];
        // every fifth gradient is the one before
        const wanted = denseSteps(lr, history, count, (x) => {
          const before = given.at(-1);
          const grad = given.length % 5 === 4 && before ? before : rosenbrock(x).grad;
          given.push(grad);
          return grad;
        });
        const w = await tensor(Float64Array.from(BEGIN), { device: device() });
        const optimiser = lbfgs({ lr, history, lineSearch: 'none', maxIterations: 1 });
        using state = await optimiser.init(w);
        const points: number[][] = [];
        for (const grad of given.slice(0, count)) {
          using g = await tensor(Float64Array.from(grad), { device: device() });
          (await optimiser.step(w, g, state)).skipped.dispose();
          points.push(Array.from(await w.toTypedArray(), Number));
        }
        close(points, wanted, 1e-10);
      }
    });

    it('several calls are one with as many iterations', async () => {
      const many = await stepped({ maxIterations: 1 }, 12, 'float64');
      const [one] = await stepped({ maxIterations: 12, maxEvaluations: 1000 }, 1, 'float64');
      close([one as number[]], [many[11] as number[]], 1e-12);
    });

    it('goes on where the first pairs have no curvature', async () => {
      const w = await tensor(0.5, { device: device(), dtype: 'float64' });
      const optimiser = lbfgs({ lineSearch: 'none', maxIterations: 1 });
      using state = await optimiser.init(w);
      let x = 0.5;
      for (let step = 0; step < 3; step++) {
        const grad = await w.sin().neg();
        await optimiser.step(w, grad, state);
        x += Math.sin(x);
        expect(await w.item()).toBeCloseTo(x, 12);
      }
      await state.tensors.get('numbers')?.fill(0);
      await optimiser.step(w, await w.sin().neg(), state);
      expect(await w.item()).toBeCloseTo(x + Math.sin(x), 12);
    });

    // w^4 overflows in float64, which a step of 1e80 reaches and one of 1e-4 does not
    const quartic = async (params: Tree) => {
      const w = params as unknown as Tensor<'float64'>;
      return { value: await w.pow(4), grad: (await w.pow(3).mul(4)) as Tensor };
    };

    it.each([1, 3])('ends at the last finite point, of %d', async (good) => {
      let asked = 0;
      const evaluate = async (params: Tree) => {
        const { value, grad } = await quartic(params);
        return { value, grad: ++asked < good ? grad : ((await grad.mul(NaN)) as Tensor) };
      };
      const taken = async (nonFinite: 'skip' | 'throw', lr: number) => {
        asked = 0;
        const w = await tensor(10, { device: device(), dtype: 'float64' });
        const optimiser = lbfgs({ lineSearch: 'none', lr, nonFinite });
        using state = await optimiser.init(w);
        const { value, grad } = await quartic(w);
        const call = optimiser.step(w, grad, state, { value, evaluate });
        const report = await call.catch((error: unknown) => error as Error);
        const [count, skips] = ['count', 'skips'].map((name) => state.tensors.get(name)?.item());
        return { w: await w.item(), report, numbers: [await count, await skips] };
      };
      const lr = good === 1 ? 1e80 : 1e-4;
      const skipped = await taken('skip', lr);
      if (skipped.report instanceof Error) throw skipped.report;
      expect(await skipped.report.skipped.item()).toBe(1);
      expect(skipped.numbers).toEqual([0, 1]);
      expect(asked).toBe(good);
      if (good === 1) expect(skipped.w).toBe(10);
      else {
        expect(skipped.w).toBeLessThan(10);
        expect(skipped.w).toBeGreaterThan(0);
      }
      const thrown = await taken('throw', lr);
      expect(thrown).toMatchObject({ w: 10, numbers: [0, 0], report: { code: 'NOT_FINITE' } });
    });

    it('finds the minimum', async () => {
      const points = await stepped(
        { maxIterations: 200, maxEvaluations: 1000, history: 6, toleranceChange: 1e-14 },
        1,
        'float64',
      );
      close([points[0] as number[]], [BEGIN.map(() => 1)], 1e-6);
    });
  });
}
