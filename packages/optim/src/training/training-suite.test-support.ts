import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from '@mercer/autodiff';
import { full, tensor, type Device, type Tensor } from '@mercer/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import { adamReference, sgdReference } from '../first-order/references.test-support.js';
import {
  accumulate,
  adam,
  adamW,
  clipByGlobalNorm,
  ema,
  lbfgs,
  loadCheckpoint,
  lossScale,
  muon,
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
  const folders: string[] = [];
  const newPath = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-optim-'));
    folders.push(folder);
    return join(folder, 'state.safetensors');
  };
  afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true }))));

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

    describe('checkpoints', () => {
      const OPTIMISERS: readonly (readonly [
        string,
        () => Optimiser,
        'float32' | 'float64' | 'bfloat16',
      ])[] = [
        ['sgd', () => sgd({ lr: 0.05, momentum: 0.9 }), 'float32'],
        ['adam with a schedule', () => adam({ lr: (t) => 0.1 / t }), 'float64'],
        ['adamW with masters', () => adamW({ lr: 0.01 }), 'bfloat16'],
        ['muon', () => muon(), 'float32'],
        ['a scale of the loss', () => lossScale(adam(), { interval: 3 }), 'float32'],
        ['accumulation', () => accumulate(adam(), { every: 2 }), 'float32'],
      ];
      it.each(OPTIMISERS)('resume bit for bit: %s', async (_, make, dtype) => {
        const path = await newPath();
        const gradients = (t: number) => treeOf(gradientAt(initial(), t), device(), dtype);
        const params = await treeOf(initial(), device(), dtype);
        const optimiser = make();
        using state = await optimiser.init(params);
        const walk = async (from: number, to: number, one: typeof params, of: typeof state) => {
          for (let t = from; t <= to; t++) {
            (await make().step(one, await gradients(t), of)).skipped.dispose();
          }
        };
        await walk(1, 5, params, state);
        const about = { model: 'small', seed: 7 };
        await saveCheckpoint(path, { optimiser, params, state }, { about });
        await walk(6, 11, params, state);
        const others = await treeOf(
          initial().map((one) => one.map(() => 9)),
          device(),
          dtype,
        );
        using resumed = await make().init(others);
        const header = await loadCheckpoint(path, {
          optimiser: make(),
          params: others,
          state: resumed,
        });
        expect(header).toMatchObject({ version: 1, optimiser: optimiser.name, step: 5, about });
        expect(await readCheckpointHeader(path)).toEqual(header);
        expect(resumed.step).toBe(5);
        await walk(6, 11, others, resumed);
        expect(await valuesOf(others)).toEqual(await valuesOf(params));
        for (const [slot, one] of state.tensors) {
          const found = await resumed.tensors.get(slot)?.toTypedArray({ raw: true });
          expect(found, slot).toEqual(await one.toTypedArray({ raw: true }));
        }
      });

      it('of a file that is cut anywhere, or damaged, are refused and change nothing', async () => {
        const path = await newPath();
        using w = await tensor([1, 2], where());
        using g = await tensor([1, 1], where());
        const optimiser = adam();
        using state = await optimiser.init(w);
        (await optimiser.step(w, g, state)).skipped.dispose();
        await saveCheckpoint(path, { optimiser, params: w, state });
        const bytes = await readFile(path);
        (await optimiser.step(w, g, state)).skipped.dispose();
        const before = await w.toNested();
        const refused = async (content: Uint8Array, code = 'BAD_CHECKPOINT') => {
          await writeFile(path, content);
          const found = loadCheckpoint(path, { optimiser, params: w, state });
          await expect(found).rejects.toMatchObject({ code });
          expect(await w.toNested()).toEqual(before);
          expect(state.step).toBe(2);
        };
        for (const length of [0, 4, 8, 100, bytes.length - 8, bytes.length - 1]) {
          await refused(bytes.subarray(0, length));
        }
        const text = bytes.toString('latin1');
        const changed = (from: string, to: string) => Buffer.from(text.replace(from, to), 'latin1');
        await refused(changed('mercer.optim', 'mercer.other'));
        await refused(changed('\\"version\\":1', '\\"version\\":2'));
        await refused(changed('\\"step\\":1', '\\"step\\":x'));
        await refused(changed('params/params', 'params/paramz'), 'WRONG_STATE');
        await refused(changed('\\"optimiser\\":\\"adam', '\\"optimiser\\":\\"adax'), 'WRONG_STATE');
        const nowhere = loadCheckpoint(`${path}.gone`, { optimiser, params: w, state });
        await expect(nowhere).rejects.toMatchObject({ code: 'NPY_NOT_FOUND' });
      });

      it('of other optimisers and other shapes are refused', async () => {
        const path = await newPath();
        using w = await tensor([1, 2], where());
        const optimiser = adam();
        using state = await optimiser.init(w);
        await saveCheckpoint(path, { optimiser, params: w, state });
        using other = await sgd().init(w);
        const asSgd = loadCheckpoint(path, { optimiser: sgd(), params: w, state: other });
        await expect(asSgd).rejects.toMatchObject({ code: 'WRONG_STATE' });
        using longer = await tensor([1, 2, 3], where());
        using ofLonger = await optimiser.init(longer);
        const shaped = loadCheckpoint(path, { optimiser, params: longer, state: ofLonger });
        await expect(shaped).rejects.toMatchObject({ code: 'WRONG_STATE' });
        using wide = await tensor([1, 2], { dtype: 'float64', ...where() });
        using ofWide = await lbfgs().init(wide);
        const asLbfgs = loadCheckpoint(path, { optimiser: lbfgs(), params: wide, state: ofWide });
        await expect(asLbfgs).rejects.toMatchObject({ code: 'WRONG_STATE' });
      });

      it('move between devices', async () => {
        const path = await newPath();
        const params = await treeOf(initial(), device(), 'float32');
        const optimiser = adam({ lr: 0.1 });
        using state = await optimiser.init(params);
        const grads = await treeOf(gradientAt(initial(), 1), device(), 'float32');
        (await optimiser.step(params, grads, state)).skipped.dispose();
        await saveCheckpoint(path, { optimiser, params, state });
        const onCpu = await treeOf(initial(), 'cpu', 'float32');
        using ofCpu = await optimiser.init(onCpu);
        await loadCheckpoint(path, { optimiser, params: onCpu, state: ofCpu });
        expect(await valuesOf(onCpu)).toEqual(await valuesOf(params));
        const again = await treeOf(gradientAt(initial(), 2), 'cpu', 'float32');
        (await optimiser.step(onCpu, again, ofCpu)).skipped.dispose();
        await saveCheckpoint(path, { optimiser, params: onCpu, state: ofCpu });
        await loadCheckpoint(path, { optimiser, params, state });
        expect(await valuesOf(params)).toEqual(await valuesOf(onCpu));
        expect(await state.tensors.get('count')?.item()).toBe(2);
      });
    });
  });
}
