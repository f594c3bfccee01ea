import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { empty, memory, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { afterAll, describe, expect, it, vi } from 'vitest';
import {
  accumulate,
  adam,
  clipByGlobalNorm,
  kfac,
  ema,
  loadCheckpoint,
  naturalGradient,
  saveCheckpoint,
  sgd,
  shampoo,
  soap,
  type Optimiser,
  type OptimiserState,
} from '../index.js';
import { settledUndisposed, undisposed } from '../../../tensor/test/memory-kept.mjs';

/** What becomes of states where steps are not awaited, refused, or states loaded, on any device. */
export function statesSuite(name: string, on: () => Device): void {
  const where = () => ({ device: on(), dtype: 'float64' as const });
  const make = (values: number[][] | number[]): PromiseLike<Tensor> => tensor(values, where());
  const folders: string[] = [];
  const newPath = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-states-'));
    folders.push(folder);
    return join(folder, 'state.safetensors');
  };
  afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true }))));

  const take = async (
    optimiser: Optimiser,
    w: Tensor,
    state: OptimiserState,
    g: Tensor,
  ): Promise<void> => (await optimiser.step(w, g, state)).skipped.dispose();

  describe(`states on ${name}`, () => {
    it('are stepped one after another, where steps are not awaited', async () => {
      for (const optimiser of [
        sgd({ lr: (step) => step }),
        accumulate(sgd({ lr: (step) => step }), { every: 1 }),
      ]) {
        using w = await make([0]);
        using g = await make([1]);
        using state = await optimiser.init(w);
        await Promise.all([take(optimiser, w, state, g), take(optimiser, w, state, g)]);
        expect(await w.toNested()).toEqual([-3]);
        expect(state.step).toBe(2);
        // one that is refused keeps none back
        using bad = await make([1, 2]);
        const [refused, taken] = await Promise.allSettled([
          take(optimiser, w, state, bad),
          take(optimiser, w, state, g),
        ]);
        expect([refused.status, taken.status]).toEqual(['rejected', 'fulfilled']);
        expect(await w.toNested()).toEqual([-6]);
      }
    });

    it('are not stepped within their own steps', async () => {
      using w = await make([0, 1]);
      using g = await make([1, 1]);
      const optimiser = naturalGradient();
      using state = await optimiser.init(w);
      const perSample = async () => {
        await take(optimiser, w, state, g);
        return zeros([2, 2], where());
      };
      const refused = optimiser.step(w, g, state, { perSample });
      await expect(refused).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/in the middle of a step/) as string,
      });
      const later = optimiser.step(w, g, state, { perSample: () => zeros([2, 2], where()) });
      (await later).skipped.dispose();
      expect(state.step).toBe(1);
    });

    it('of accumulations go on after a step that was refused, as if it had not been', async () => {
      const options = { lr: 0.5, damping: 1 };
      const optimiser = accumulate(kfac(options), { every: 2 });
      using w = await make([[1, 2]]);
      using wanted = await make([[1, 2]]);
      using state = await optimiser.init(w);
      using plain = await optimiser.init(wanted);
      using g = await make([[1, 3]]);
      const statistics = [
        {
          kind: 'linear',
          weight: 'params',
          inputs: await make([[1, 2]]),
          outputGradients: await make([[1]]),
        },
      ] as const;
      await take(optimiser, w, state, g);
      for (let k = 0; k < 2; k++) {
        const refused = take(optimiser, w, state, g);
        await expect(refused).rejects.toMatchObject({ code: 'MISSING_STATISTICS' });
        expect(state.step).toBe(1);
      }
      (await optimiser.step(w, g, state, { statistics })).skipped.dispose();
      await take(optimiser, wanted, plain, g);
      (await optimiser.step(wanted, g, plain, { statistics })).skipped.dispose();
      expect(await w.toNested()).toEqual(await wanted.toNested());
      expect([state.step, await state.tensors.get('count')?.item()]).toEqual([2, 1]);
      expect(await w.toNested()).not.toEqual([[1, 2]]);
    });

    it('of accumulations of accumulations are none', () => {
      const inner = accumulate(sgd(), { every: 2 });
      expect(() => accumulate(inner, { every: 3 })).toThrow(/accumulates itself.*product/);
    });

    it('go on bit for bit where a checkpoint is loaded while a refresh is under way', async () => {
      for (const optimiser of [
        soap({ frequency: 3, delay: 2 }),
        shampoo({ frequency: 3, delay: 2, start: 3, mergeDims: false, eps: 1e-3 }),
      ]) {
        const path = await newPath();
        const runs: unknown[] = [];
        // the checkpoint is of step 3, in which a refresh begins; what is loaded into is there with another one
        for (const detour of [false, true]) {
          using w = await make([
            [1, 2],
            [3, 4],
          ]);
          const gradient = (step: number) =>
            make([
              [Math.sin(step), Math.cos(step)],
              [Math.cos(2 * step), 1],
            ]);
          using state = await optimiser.init(w);
          const go = async (from: number, to: number, by = 1): Promise<void> => {
            for (let step = from; step <= to; step++) {
              using g = await gradient(by * step);
              await take(optimiser, w, state, g);
            }
          };
          await go(1, 3, detour ? 5 : 1);
          if (!detour) await saveCheckpoint(path, { optimiser, params: w, state });
          else await loadCheckpoint(path, { optimiser, params: w, state });
          await go(4, 8);
          runs.push([await w.toNested(), await state.tensors.get('params/factor0.0')?.toNested()]);
        }
        expect(runs[1]).toEqual(runs[0]);
      }
    });

    it('are saved as they are at one moment', async () => {
      const path = await newPath();
      using w = await make([0, 0]);
      using g = await make([1, 1]);
      const optimiser = adam({ lr: 1 });
      using state = await optimiser.init(w);
      await take(optimiser, w, state, g);
      const [before, m] = [await w.toNested(), await state.tensors.get('params/m')?.toNested()];
      const saved = saveCheckpoint(path, { optimiser, params: w, state });
      await Promise.all([saved, take(optimiser, w, state, g)]);
      expect(await w.toNested()).not.toEqual(before);
      await loadCheckpoint(path, { optimiser, params: w, state });
      expect([await w.toNested(), await state.tensors.get('params/m')?.toNested()]).toEqual([
        before,
        m,
      ]);
      expect([state.step, await state.tensors.get('count')?.item()]).toEqual([1, 1]);
    });

    it('are not saved with what JSON has no words for, or as another optimiser’s', async () => {
      const path = await newPath();
      using w = await make([0]);
      using state = await adam().init(w);
      const of = { optimiser: adam(), params: w, state };
      await expect(saveCheckpoint(path, of, { about: { a: 1n } })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/about.*JSON/) as string,
      });
      const other = saveCheckpoint(path, { ...of, optimiser: sgd() });
      await expect(other).rejects.toMatchObject({ code: 'WRONG_STATE' });
    });

    it('are not written where memory is shared', async () => {
      const optimiser = adam();
      using whole = empty([6], where());
      await whole.fill(1);
      using a = whole.slice([0, 4]);
      using b = whole.slice([2, 6]);
      await expect(optimiser.init({ a, b })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/a and b/) as string,
      });
      await expect(clipByGlobalNorm({ a, b }, 1)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      using broad = (await zeros([1], where())).broadcastTo([3]);
      await expect(optimiser.init(broad)).rejects.toMatchObject({ code: 'OVERLAP' });
      using c = whole.slice([0, 3]);
      using d = whole.slice([3, 6]);
      using state = await optimiser.init({ c, d });
      using shifted = whole.slice([1, 4]);
      for (const grads of [
        { c: d, d: c },
        { c: shifted, d },
      ]) {
        const refused = optimiser.step({ c, d }, grads, state);
        await expect(refused).rejects.toMatchObject({
          code: 'OVERLAP',
          message: expect.stringMatching(/the gradient of [cd] has memory of/) as string,
        });
        expect([state.step, await state.tensors.get('count')?.item()]).toEqual([0, 0]);
        expect(await whole.toNested()).toEqual([1, 1, 1, 1, 1, 1]);
      }
      // its own memory in its own layout is read before it is written
      (await optimiser.step({ c, d }, { c, d }, state)).skipped.dispose();
      expect(await state.tensors.get('count')?.item()).toBe(1);
    });

    it('give back what was made, where something fails', async () => {
      using w = await make([1, 2]);
      using b = await make([3]);
      using broad = b.broadcastTo([3]);
      const before = await settledUndisposed(memory);
      await expect(clipByGlobalNorm({ w, broad }, 1)).rejects.toMatchObject({ code: 'OVERLAP' });
      expect(undisposed(memory())).toEqual(before);
      const fail = (): never => {
        throw new Error('no memory');
      };
      const cast = vi.spyOn(b, 'cast').mockImplementation(fail);
      await expect(ema({ w, b })).rejects.toThrow('no memory');
      cast.mockRestore();
      expect(undisposed(memory())).toEqual(before);
    });

    it('give back what is under way, of a step that is refused and taken again too', async () => {
      using w = await make([
        [1, 2],
        [3, 4],
      ]);
      using g = await make([
        [1, 0],
        [2, 1],
      ]);
      const before = await settledUndisposed(memory);
      const optimiser = shampoo({ frequency: 2, delay: 2, start: 1, mergeDims: false });
      const state = await optimiser.init(w);
      await take(optimiser, w, state, g);
      // as a step that failed behind the beginning of its refresh leaves it
      state.step = 0;
      await take(optimiser, w, state, g);
      state[Symbol.dispose]();
      await vi.waitFor(() => expect(undisposed(memory())).toEqual(before));
    });
  });
}
