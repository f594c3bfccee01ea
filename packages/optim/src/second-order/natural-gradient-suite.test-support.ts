import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { naturalGradient, type NaturalGradientOptions, type StepExtras } from '../index.js';
import {
  disposeTree,
  gradientAt,
  initial,
  SIZES,
  treeOf,
  valuesOf,
} from '../testing/trajectory.test-support.js';
import {
  combined,
  identity,
  solved,
  times,
  transposed,
  type Matrix,
} from './jacobi.test-support.js';

const TOTAL = SIZES.reduce<number>((sum, x) => sum + x, 0);
const wave = (k: number): number => Math.sin(1.7 * k + 0.3) + 0.25 * Math.cos(0.37 * k * k);

/** Gradients of examples of a step, (count, TOTAL). */
const rowsAt = (count: number, step: number): Matrix =>
  Array.from({ length: count }, (_, n) =>
    Array.from({ length: TOTAL }, (_, i) => wave(7 * n + 3 * i + 41 * step)),
  );

type How = 'matrix' | 'tree' | 'function';

type Where = { readonly device: Device; readonly dtype: 'float32' | 'float64' };

async function perSampleOf(
  rows: Matrix,
  how: How,
  where: Where,
): Promise<{ given: Required<StepExtras>['perSample']; free: () => void }> {
  const make = (from: number, shape: readonly number[]): PromiseLike<Tensor> => {
    const size = shape.reduce((product, x) => product * x, 1);
    const data = Float64Array.from(rows.flatMap((row) => row.slice(from, from + size)));
    return tensor(data, { shape: [rows.length, ...shape], ...where });
  };
  const tree = async () => ({
    layers: [{ weight: await make(0, [3, 4]), bias: await make(12, [4]) }],
    scale: await make(16, []),
    none: await make(17, [0, 2]),
  });
  if (how === 'matrix') {
    const matrix = await make(0, [TOTAL]);
    return { given: matrix, free: () => matrix.dispose() };
  }
  if (how === 'function') return { given: tree, free: () => undefined };
  const made = await tree();
  return { given: made, free: () => disposeTree(made) };
}

const CASES: readonly (readonly [NaturalGradientOptions, count: number, how: How])[] = [
  [{ lr: 0.05, damping: 0.1 }, 5, 'matrix'],
  [{ lr: 0.05, damping: 0.1 }, 40, 'tree'],
  [
    { lr: (t) => 0.2 / t, damping: 0.3, fisher: 'true', momentum: 0.6, weightDecay: 0.1 },
    5,
    'function',
  ],
  [{ lr: 0.5, damping: 0.2, normConstraint: 1e-2 }, TOTAL, 'tree'],
  [{ lr: 0.05, damping: 0.5, solver: 'cg', rtol: 1e-13, maxIterations: 500 }, 9, 'matrix'],
];

/** The natural gradient, tested on any device. */
export function naturalGradientSuite(name: string, on: () => Device): void {
  const run = async (
    [options, count, how]: (typeof CASES)[number],
    dtype: 'float32' | 'float64',
    within: number,
  ): Promise<void> => {
    const where = { device: on(), dtype };
    const {
      damping = 1e-3,
      momentum = 0,
      weightDecay = 0,
      normConstraint = Infinity,
      lr,
    } = options;
    const iterations = options.solver === 'cg' && dtype === 'float32' ? { rtol: 1e-6 } : {};
    const optimiser = naturalGradient({ ...options, ...iterations });
    const wanted = initial();
    const params = await treeOf(wanted, where.device, dtype);
    using state = await optimiser.init(params);
    const m = new Array<number>(TOTAL).fill(0);
    for (let t = 1; t <= 20; t++) {
      const at = gradientAt(wanted, t);
      const grads = await treeOf(at, where.device, dtype);
      const rows = rowsAt(count, t);
      const { given, free } = await perSampleOf(rows, how, where);
      const extras = options.fisher === 'true' ? { modelPerSample: given } : { perSample: given };
      const { skipped } = await optimiser.step(params, grads, state, extras);
      expect(await skipped.item()).toBe(0);
      skipped.dispose();
      free();
      disposeTree(grads);
      const rate = typeof lr === 'function' ? lr(t) : Number(lr);
      const flat = wanted.flat();
      const g = at.flat().map((x, i) => x + weightDecay * flat[i]!);
      const fisher = times(transposed(rows), rows);
      const system = combined(fisher, 1 / count, identity(TOTAL), damping);
      const u = solved(system, transposed([g])).map(([x]) => x!);
      const product = u.reduce((sum, x, i) => sum + x * g[i]!, 0);
      const nu = Math.min(1, Math.sqrt(normConstraint / (rate ** 2 * product)));
      let k = 0;
      for (const one of wanted) {
        for (const i of one.keys()) {
          m[k] = momentum * m[k]! + nu * u[k]!;
          one[i]! -= rate * m[k]!;
          k++;
        }
      }
      const found = (await valuesOf(params)).flat();
      for (const [i, x] of wanted.flat().entries()) {
        if (Math.abs(found[i]! - x) <= within * Math.max(1, Math.abs(x))) continue;
        expect.fail(`step ${t}, element ${i}: ${found[i]} for ${x}`);
      }
      expect(await state.tensors.get('failures')?.item()).toBe(0);
    }
    disposeTree(params);
  };

  describe(`naturalGradient on ${name}`, () => {
    describe.each(CASES)('%o of %i examples as a %s', (...one) => {
      it('takes the steps of the formulas in float64', () => run(one, 'float64', 1e-10));
      it('takes them in float32', () => run(one, 'float32', 1e-4));
    });
  });
}
