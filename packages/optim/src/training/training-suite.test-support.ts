import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from '@mercer/autodiff';
import { full, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { adamReference, sgdReference } from '../first-order/references.test-support.js';
import {
  accumulate,
  adam,
  adamW,
  clipByGlobalNorm,
  ema,
  lossScale,
  parameterGroups,
  readCheckpointHeader,
  saveCheckpoint,
  sgd,
  type Optimiser,
} from '../index.js';
import {
  compare,
  disposeTree,
  gradientAt,
  initial,
  treeOf,
  valuesOf,
  type Reference,
} from '../testing/trajectory.test-support.js';

const norm = (all: readonly (readonly number[])[]): number => Math.hypot(...all.flat());

/** What stands around optimisers, tested on any device. */
export function trainingSuite(name: string, device: () => Device): void {
  const where = () => ({ device: device() });
  describe(`training on ${name}`, () => {
    describe('norms of gradients', () => {
      it('are limited in each step', async () => {
        const inner = sgdReference({ lr: 0.05, momentum: 0.9 });
        let limited = 0;
        const reference: Reference = (params, grads, t) => {
          const by = Math.min(1, 4 / norm(grads));
          if (by < 1) limited++;
          inner(
            params,
            grads.map((one) => one.map((g) => g * by)),
            t,
          );
        };
        const optimiser = sgd({ lr: 0.05, momentum: 0.9, maxGradNorm: 4 });
        await compare(optimiser, reference, { ...where(), dtype: 'float64', within: 1e-10 });
        expect(limited).toBeGreaterThan(0);
        expect(limited).toBeLessThan(20);
      });

      it('are limited in place', async () => {
        for (const dtype of ['float32', 'float64', 'bfloat16'] as const) {
          const grads = await treeOf(initial(), device(), dtype);
          const before = await valuesOf(grads);
          using found = await clipByGlobalNorm(grads, 2);
          const of = norm(before);
          expect(await found.item()).toBeCloseTo(of, dtype === 'float64' ? 12 : 5);
          const after = await valuesOf(grads);
          expect(norm(after)).toBeCloseTo(2, dtype === 'bfloat16' ? 1 : 5);
          using same = await clipByGlobalNorm(grads, 100);
          expect(await valuesOf(grads)).toEqual(after);
          expect(await same.item()).toBeCloseTo(norm(after), 5);
          disposeTree(grads);
        }
      });
    });

    it('clipByGlobalNorm scales nothing where the norm is not finite', async () => {
      for (const bad of [Infinity, NaN]) {
        const grads = { a: await tensor([bad, 1], where()), b: await tensor([-3], where()) };
        using norm = await clipByGlobalNorm(grads, 1);
        expect(await norm.item()).toBe(bad);
        expect(await grads.a.toNested()).toEqual([bad, 1]);
        expect(await grads.b.toNested()).toEqual([-3]);
        for (const one of Object.values(grads)) one.dispose();
      }
    });

    describe('parameter groups', () => {
      const isBias = (path: string): boolean => /bias|scale/.test(path);
      const reference = (): Reference => {
        const weights = adamReference({ lr: () => 0.01, weightDecay: 0.1, decoupled: true });
        const others = sgdReference({ lr: 0.05, momentum: 0.9 });
        return (params, grads, t) => {
          const pick = <T>(all: readonly T[], which: readonly number[]): T[] =>
            which.map((k) => all[k] as T);
          weights(pick(params, [0, 3]), pick(grads, [0, 3]), t);
          others(pick(params, [1, 2]), pick(grads, [1, 2]), t);
        };
      };
      const groups = () => ({
        weights: adamW({ lr: 0.01, weightDecay: 0.1 }),
        default: sgd({ lr: 0.05, momentum: 0.9 }),
      });
      it.each<readonly [string, () => Optimiser]>([
        [
          'a function of the path',
          () =>
            parameterGroups({
              groups: groups(),
              of: (path) => (isBias(path) ? 'default' : 'weights'),
            }),
        ],
        [
          'paths, the longest first',
          () =>
            parameterGroups({
              groups: groups(),
              of: { layers: 'weights', none: 'weights', 'layers[0].bias': 'default' },
            }),
        ],
      ])('by %s', async (_, optimiser) => {
        for (const [dtype, within] of [
          ['float64', 1e-10],
          ['float32', 1e-4],
        ] as const) {
          await compare(optimiser(), reference(), { ...where(), dtype, within });
        }
      });

      it('are skipped together', async () => {
        const optimiser = parameterGroups({
          groups: groups(),
          of: (path) => (isBias(path) ? 'default' : 'weights'),
        });
        const params = await treeOf(initial(), device(), 'float32');
        const before = await valuesOf(params);
        using state = await optimiser.init(params);
        const values = initial();
        (values[1] as number[])[0] = NaN;
        const grads = await treeOf(values, device(), 'float32');
        const { skipped } = await optimiser.step(params, grads, state);
        expect(await skipped.item()).toBe(1);
        expect(await valuesOf(params)).toEqual(before);
      });

      it('refuse a parameter of no group, by its path', async () => {
        const optimiser = parameterGroups({ groups: groups(), of: () => 'third' });
        const params = await treeOf(initial(), device(), 'float32');
        await expect(optimiser.init(params)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining('layers[0].weight is in group') as string,
        });
      });
    });

    it('averages of parameters', async () => {
      const values = initial();
      const params = await treeOf(values, device(), 'float64');
      using average = await ema(params, { decay: 0.75 });
      const means = initial();
      for (let step = 1; step <= 5; step++) {
        const now = values.map((one) => one.map((x) => x * (1 + step)));
        const next = await treeOf(now, device(), 'float64');
        await average.update(next);
        for (const [s, one] of means.entries()) {
          for (const [i, mean] of one.entries()) one[i] = 0.75 * mean + 0.25 * (now[s]?.[i] ?? NaN);
        }
        disposeTree(next);
      }
      for (const [s, one] of (await valuesOf(average.params)).entries()) {
        for (const [i, x] of one.entries()) expect(x).toBeCloseTo(means[s]?.[i] ?? NaN, 12);
      }
    });

    it('gradients of several calls are one step with their mean', async () => {
      const optimiser = accumulate(adam({ lr: (t) => 0.1 / t }), { every: 4 });
      const inner = adamReference({ lr: (t) => 0.1 / t });
      let sums = initial().map((one) => one.map(() => 0));
      const reference: Reference = (params, grads, t) => {
        sums = sums.map((one, s) => one.map((sum, i) => sum + (grads[s]?.[i] ?? NaN) / 4));
        if (t % 4 !== 0) return;
        inner(params, sums, t / 4);
        sums = sums.map((one) => one.map(() => 0));
      };
      const wanted = initial();
      const params = await treeOf(wanted, device(), 'float64');
      using state = await optimiser.init(params);
      for (let t = 1; t <= 20; t++) {
        const at = gradientAt(wanted, t);
        const grads = await treeOf(at, device(), 'float64');
        (await optimiser.step(params, grads, state)).skipped.dispose();
        reference(wanted, at, t);
        for (const [s, one] of (await valuesOf(params)).entries()) {
          for (const [i, x] of one.entries()) expect(x).toBeCloseTo(wanted[s]?.[i] ?? NaN, 10);
        }
        disposeTree(grads);
      }
      expect(await state.tensors.get('count')?.item()).toBe(5);
      expect(state.step).toBe(20);
    });

    describe('the scale of the loss', () => {
      it('grows after good steps, and falls where a gradient overflows', async () => {
        using w = await tensor([1, 2], { dtype: 'float16', ...where() });
        const optimiser = lossScale(sgd({ lr: 0.5 }), { initial: 1024, interval: 2 });
        using state = await optimiser.init(w);
        const scale = async () => Number(await state.tensors.get('lossScale')?.item());
        const wanted = [1, 2];
        for (const [step, overflows] of [false, false, false, true, false, true, true].entries()) {
          const before = await scale();
          using loss = await tensor(3, where());
          using scaled = await optimiser.scaled(loss, state);
          expect(await scaled.item()).toBe(3 * before);
          using g = await tensor(overflows ? [Infinity, 1] : [before, -before], {
            dtype: 'float16',
            ...where(),
          });
          const { skipped } = await optimiser.step(w, g, state);
          expect(await skipped.item()).toBe(overflows ? 1 : 0);
          if (!overflows) {
            wanted[0] = (wanted[0] ?? 0) - 0.5;
            wanted[1] = (wanted[1] ?? 0) + 0.5;
          }
          expect(await w.toNested()).toEqual(wanted);
          expect(await scale()).toBe([1024, 2048, 2048, 1024, 1024, 512, 256][step]);
        }
        expect(await state.tensors.get('count')?.item()).toBe(4);
        expect(await state.tensors.get('skips')?.item()).toBe(3);
      });

      it('grows too where there were more good steps than the interval says', async () => {
        using w = await tensor([1, 2], where());
        using g = await tensor([1, 1], where());
        using state = await lossScale(sgd(), { initial: 4, interval: 100 }).init(w);
        await state.tensors.get('goodSteps')?.fill(50);
        const shorter = lossScale(sgd(), { initial: 4, interval: 10 });
        (await shorter.step(w, g, state)).skipped.dispose();
        expect(await state.tensors.get('lossScale')?.item()).toBe(8);
        expect(await state.tensors.get('goodSteps')?.item()).toBe(0);
      });

      it('is 65536 at first, and is taken out of norms', async () => {
        const optimiser = lossScale(sgd({ lr: 1, maxGradNorm: 1 }));
        using w = await tensor([0, 0], where());
        using g = await tensor([3 * 65536, 4 * 65536], where());
        using state = await optimiser.init(w);
        (await optimiser.step(w, g, state)).skipped.dispose();
        const [a, b] = await w.toNested<number[]>();
        expect(a).toBeCloseTo(-0.6, 6);
        expect(b).toBeCloseTo(-0.8, 6);
      });
    });

    describe('a step that is prepared', () => {
      it('is replayed with the counts of the device', async () => {
        const optimiser = adam({ lr: 0.05 });
        using w = await tensor([1, 2, 3], where());
        using plain = await w.clone();
        using state = await optimiser.init(w);
        using ofPlain = await optimiser.init(plain);
        const gradient = (k: number) => tensor([k, -1, 0.5 * k], where());
        using example = await gradient(1);
        using step = await prepare(
          async (g: Tensor) => (await optimiser.step(w, g, state)).skipped,
          example,
        );
        // preparing takes the step of the example
        (await optimiser.step(plain, example, ofPlain)).skipped.dispose();
        for (let k = 2; k <= 6; k++) {
          using g = await gradient(k === 4 ? NaN : k);
          using skipped = step(g);
          expect(await skipped.item()).toBe(k === 4 ? 1 : 0);
          (await optimiser.step(plain, g, ofPlain)).skipped.dispose();
          expect(await w.toNested()).toEqual(await plain.toNested());
        }
        expect(await state.tensors.get('count')?.item()).toBe(5);
      });

      it('counts steps once: those of the host, and replays, in schedules and checkpoints', async () => {
        const rates: number[] = [];
        using w = await tensor([1, 2], where());
        using g = await tensor([1, 1], where());
        const optimiser = sgd({ lr: 0.5 });
        using state = await optimiser.init(w);
        (await optimiser.step(w, g, state)).skipped.dispose();
        using step = await prepare(
          async (one: Tensor) => (await optimiser.step(w, one, state)).skipped,
          g,
        );
        expect(state.step).toBe(2); // the example's step is taken, the captured one is not yet
        step(g).dispose();
        using bad = await tensor([NaN, 1], where());
        step(bad).dispose();
        const scheduled = sgd({
          lr: (t) => {
            rates.push(t);
            return 0.5;
          },
        });
        (await scheduled.step(w, g, state)).skipped.dispose();
        expect(rates).toEqual([5]);
        expect(state.step).toBe(5);
        step(g).dispose();
        const folder = await mkdtemp(join(tmpdir(), 'mercer-optim-'));
        try {
          const path = join(folder, 'state.safetensors');
          await saveCheckpoint(path, { optimiser, params: w, state });
          const { step: saved } = await readCheckpointHeader(path);
          expect(saved).toBe(6);
        } finally {
          await rm(folder, { recursive: true });
        }
        expect(await state.tensors.get('count')?.item()).toBe(5);
        expect(await w.toNested()).toEqual([-1.5, -0.5]);
      });

      it('reads lr of a tensor, and refuses a schedule', async () => {
        using lr = await full([], 0.5, where());
        using w = await tensor([1, 2], where());
        using g = await tensor([1, 1], where());
        const optimiser = sgd({ lr });
        using state = await optimiser.init(w);
        using step = await prepare(
          async (one: Tensor) => (await optimiser.step(w, one, state)).skipped,
          g,
        );
        expect(await w.toNested()).toEqual([0.5, 1.5]);
        await lr.fill(0.25);
        step(g).dispose();
        expect(await w.toNested()).toEqual([0.25, 1.25]);
        const scheduled = sgd({ lr: () => 1 });
        const refused = prepare(
          async (one: Tensor) => (await scheduled.step(w, one, state)).skipped,
          g,
        );
        await expect(refused).rejects.toMatchObject({ code: 'CAPTURED' });
      });
    });
  });
}
