import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tensor, type Device } from '@mercer/tensor';
import { afterAll, describe, expect, it } from 'vitest';
import {
  accumulate,
  adam,
  adamW,
  kfac,
  lbfgs,
  loadCheckpoint,
  lossScale,
  muon,
  naturalGradient,
  parameterGroups,
  readCheckpointHeader,
  saveCheckpoint,
  sgd,
  shampoo,
  soap,
  type Optimiser,
} from '../index.js';
import { gradientAt, initial, treeOf, valuesOf } from '../testing/trajectory.test-support.js';

/** Files of parameters and states, tested on any device. */
export function checkpointSuite(name: string, device: () => Device): void {
  const where = () => ({ device: device() });
  const folders: string[] = [];
  const newPath = async (): Promise<string> => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-optim-'));
    folders.push(folder);
    return join(folder, 'state.safetensors');
  };
  afterAll(() => Promise.all(folders.map((one) => rm(one, { recursive: true }))));

  describe(`checkpoints on ${name}`, () => {
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
      [
        'lbfgs',
        () => lbfgs({ lineSearch: 'none', maxIterations: 1, history: 3, lr: 0.05 }),
        'float32',
      ],
    ];
    it.each([
      ['shampoo', shampoo],
      ['soap', soap],
      ['kfac', (given: { frequency: number | 'manual' }) => kfac({ ...given, plain: ['scale'] })],
      [
        'groups',
        (given: { frequency: number | 'manual' }) =>
          parameterGroups({ groups: { all: soap(given) }, of: () => 'all' }),
      ],
    ] as const)(
      'and states say what to do where %s refreshes by calls and before by steps, or the other way round',
      async (_, make: (given: { frequency: number | 'manual' }) => Optimiser) => {
        const params = { w: await tensor([[1, 2], [3, 4]], where()), scale: await tensor([1], where()) }; // prettier-ignore
        const pairs = [
          [
            make({ frequency: 2 }),
            make({ frequency: 'manual' }),
            /Go on with a frequency that counts/,
          ],
          [make({ frequency: 'manual' }), make({ frequency: 2 }), /Go on with frequency: 'manual'/],
        ] as const;
        for (const [before, now, remedy] of pairs) {
          const path = await newPath();
          using state = await before.init(params);
          using other = await now.init(params);
          await saveCheckpoint(path, { optimiser: before, params, state });
          for (const otherOptions of [false, true]) {
            const loaded = loadCheckpoint(
              path,
              { optimiser: now, params, state: other },
              { otherOptions },
            );
            await expect(loaded).rejects.toMatchObject({ code: 'WRONG_STATE' });
            await expect(loaded).rejects.toThrow(remedy);
          }
          const step = now.step(params, params, state);
          await expect(step).rejects.toMatchObject({ code: 'WRONG_STATE' });
          await expect(step).rejects.toThrow(remedy);
        }
        for (const one of Object.values(params)) one.dispose();
      },
    );

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
      const refused = async (content: Uint8Array, message = /saveCheckpoint\(\) wrote/) => {
        await writeFile(path, content);
        const found = loadCheckpoint(path, { optimiser, params: w, state });
        await expect(found).rejects.toMatchObject({
          code: 'BAD_CHECKPOINT',
          message: expect.stringMatching(message) as unknown,
        });
        await expect(readCheckpointHeader(path)).rejects.toMatchObject({
          code: 'BAD_CHECKPOINT',
        });
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
      await refused(changed('mercer.optim.sha256', 'mercer.optim.sha257'), /no metadata/);
      const damaged = /the file is damaged: its checksum is [0-9a-f]{64}, and/;
      await refused(changed('params/params', 'params/paramz'), damaged);
      await refused(changed('\\"optimiser\\":\\"adam', '\\"optimiser\\":\\"adax'), damaged);
      await refused(changed('\\"lr\\":0.001', '\\"lr\\":0.002'), damaged);
      // one bit of any number: 2 of the parameter, 4 of its moments and 2 counts, 32 bytes
      for (let at = bytes.length - 1; at >= bytes.length - 32; at -= 3) {
        const flipped = Buffer.from(bytes);
        flipped[at] = (flipped[at] ?? 0) ^ 1;
        await refused(flipped, damaged);
      }
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

    const OTHER: readonly (readonly [string, () => Optimiser, () => Optimiser, RegExp])[] = [
      ['lr', () => adam(), () => adam({ lr: 0.01 }), /: lr is 0\.001 in the file and 0\.01 here\./],
      ['a schedule', () => sgd({ lr: (t) => 1 / t }), () => sgd(), /lr is a function in .* and 0\.001 here/],
      ['two', () => adam(), () => adam({ betas: [0.9, 0.99], eps: 1e-6 }), /betas is \[0\.9,0\.999\] in the file and \[0\.9,0\.99\] here; eps is 1e-8 in/],
      ['of all', () => sgd(), () => sgd({ maxGradNorm: 1 }), /maxGradNorm is not given in the file and 1 here/],
      ['of a group', () => muon(), () => muon({ fallback: adamW({ lr: 1 }) }), /: others\.lr is 0\.001 in/],
      ['of what accumulates', () => accumulate(sgd(), { every: 2 }), () => accumulate(sgd({ lr: 1 }), { every: 3 }), /every is 2 in .*; of\.lr is/],
      ['of lbfgs', () => lbfgs(), () => lbfgs({ toleranceGrad: 0 }), /toleranceGrad is 1e-7 in/],
      ['of kfac', () => kfac(), () => kfac({ damping: 0.1, factorBeta: 0 }), /damping is 0\.001 .*factorBeta is 0\.95 in/],
      ['of shampoo', () => shampoo(), () => shampoo({ root: 'newton' }), /root is eigh in .* and newton/],
      ['of soap', () => soap(), () => soap({ frequency: 5 }), /frequency is 10 in/],
      ['of naturalGradient', () => naturalGradient(), () => naturalGradient({ solver: 'cg' }), /solver is dense in/],
    ]; // prettier-ignore
    it.each(OTHER)(
      'with other options are refused unless asked for: %s',
      async (_, saved, now, message) => {
        const path = await newPath();
        using w = await tensor([[1, 2], [3, 4]], where()); // prettier-ignore
        const optimiser = saved();
        using state = await optimiser.init(w);
        await saveCheckpoint(path, { optimiser, params: w, state });
        const other = now();
        using ofOther = await other.init(w);
        await w.fill(7);
        const into = { optimiser: other, params: w, state: ofOther };
        const refused = loadCheckpoint(path, into);
        await expect(refused).rejects.toMatchObject({
          code: 'WRONG_STATE',
          message: expect.stringMatching(message) as unknown,
        });
        expect(await w.toNested()).toEqual([[7, 7], [7, 7]]); // prettier-ignore
        await loadCheckpoint(path, into, { otherOptions: true });
        expect(await w.toNested()).toEqual([[1, 2], [3, 4]]); // prettier-ignore
        // the defaults that are written out are the same options
        await loadCheckpoint(path, { optimiser: saved(), params: w, state });
        const wrong = loadCheckpoint(path, into, { otherOptions: 'yes' as never });
        await expect(wrong).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      },
    );

    it('know a default from another value, however it is given', async () => {
      const path = await newPath();
      using w = await tensor([[1, 2]], where());
      const [byDefault, written] = [kfac(), kfac({ damping: 1e-3, momentum: 0 })];
      using state = await byDefault.init(w);
      await saveCheckpoint(path, { optimiser: byDefault, params: w, state });
      const { options } = await loadCheckpoint(path, { optimiser: written, params: w, state });
      expect(options).toMatchObject({ lr: 0.01, damping: 1e-3, plain: [], nonFinite: 'skip' });
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
}
