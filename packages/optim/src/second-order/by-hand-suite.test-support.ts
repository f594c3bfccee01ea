import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepare } from '@mercer/autodiff';
import { memory, random, tensor, type Device, type Tensor } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  accumulate,
  adam,
  kfac,
  layers,
  lbfgs,
  loadCheckpoint,
  losses,
  lossScale,
  naturalGradient,
  parameterGroups,
  saveCheckpoint,
  shampoo,
  soap,
  withStatistics,
  type KfacOptions,
  type Optimiser,
  type OptimiserState,
  type ShampooOptions,
  type SoapOptions,
} from '../index.js';
import { settledUndisposed, undisposed } from '../../../tensor/test/memory-kept.mjs';

const [PIXELS, HIDDEN, CLASSES, COUNT] = [5, 4, 3, 8];
const STEPS = 7;

const network = layers.sequential({
  first: layers.linear({ inputs: PIXELS, outputs: HIDDEN }),
  relu: layers.relu(),
  second: layers.linear({ inputs: HIDDEN, outputs: HIDDEN, bias: false }),
  last: layers.linear({ inputs: HIDDEN, outputs: CLASSES }),
});

const wave = (k: number): number => Math.sin(1.7 * k + 0.3) + 0.25 * Math.cos(0.37 * k * k);

/** What a rule is given beside its frequency, and when the ordinary one refreshes. */
interface Case {
  readonly name: string;
  readonly make: (counted: object) => Optimiser;
  /** The ordinary one's. */
  readonly counted: object;
  /** The steps behind which the other is refreshed. */
  readonly behind: readonly number[];
  readonly dtype?: 'float32' | 'float64';
}

const base = { betas: [0.9, 0.99], eps: 1e-4, lr: 0.05 } as const;
const shampooCase = (name: string, options: ShampooOptions): Case => ({
  name: `shampoo ${name}`,
  make: (counted) => shampoo({ ...base, ...options, ...counted }),
  counted: { frequency: 3, delay: 1 },
  behind: [3, 6],
});
const soapCase = (name: string, options: SoapOptions): Case => ({
  name: `soap ${name}`,
  make: (counted) => soap({ lr: 0.05, ...options, ...counted }),
  counted: { frequency: 3, delay: 1 },
  behind: [1, 3, 6],
});
const kfacCase = (name: string, options: KfacOptions): Case => ({
  name: `kfac ${name}`,
  make: (counted) => kfac({ lr: 0.05, damping: 0.1, ...options, ...counted }),
  counted: { frequency: 3, delay: 1, start: 2 },
  behind: [2, 5],
});
const ofLast = (path: string): string => (path.startsWith('last') ? 'last' : 'others');

const CASES: readonly Case[] = [
  shampooCase('grafted to adam', {}),
  shampooCase('by sums, grafted to sgd, with momentum', {
    betas: [0, 1],
    grafting: 'sgd',
    momentum: 0.5,
    weightDecay: 0.1,
  }),
  shampooCase('without grafting, in blocks, with gradients that are clipped', {
    grafting: 'none',
    mergeDims: false,
    maxDim: 3,
    maxGradNorm: 0.5,
    eps: 1e-2,
  }),
  shampooCase('by Newton', { root: 'newton', rootSteps: 25, eps: 1e-2 }),
  shampooCase('by QR', { root: 'qr', mergeDims: false, eps: 1e-2 }),
  { ...shampooCase('in float32', { eps: 1e-2 }), dtype: 'float32' },
  soapCase('as it is', {}),
  soapCase('with vectors, clipped', { vectors: true, mergeDims: true, maxGradNorm: 0.5 }),
  kfacCase('factored', { normConstraint: 1e-3 }),
  kfacCase('exact, with momentum', { inverse: 'exact', momentum: 0.5 }),
  {
    name: 'a scaled loss',
    make: (counted) => lossScale(shampoo({ ...base, ...counted }), { initial: 4, interval: 2 }),
    counted: { frequency: 3, delay: 1 },
    behind: [3, 6],
  },
  {
    name: 'groups',
    make: (counted) =>
      parameterGroups({
        groups: {
          others: shampoo({ ...base, ...counted }),
          last: soap({ lr: 0.1, ...counted }),
        },
        of: ofLast,
      }),
    counted: { frequency: 3, delay: 1 },
    // soap alone has bases in the first step: see the test of groups
    behind: [1, 3, 6],
  },
];

/** Optimisers that are refreshed by calls, on any device. */
export function byHandSuite(name: string, on: () => Device): void {
  const small = (size: number, seed: number): Float64Array =>
    Float64Array.from({ length: size }, (_, i) => wave(3 * i + 17 * seed));

  type Parameters = Readonly<Record<string, Readonly<Record<string, Tensor>>>>;

  /** A network, and examples for each step, of which one's gradients are not finite. */
  class Training implements Disposable {
    readonly optimiser: Optimiser;
    readonly params: Parameters;
    readonly state: OptimiserState;
    readonly dtype: 'float32' | 'float64';

    private constructor(
      optimiser: Optimiser,
      params: Parameters,
      state: OptimiserState,
      dtype: 'float32' | 'float64',
    ) {
      this.optimiser = optimiser;
      this.params = params;
      this.state = state;
      this.dtype = dtype;
    }

    static async of(optimiser: Optimiser, dtype: 'float32' | 'float64'): Promise<Training> {
      const made = await network.init(random.key(3), { device: on(), dtype });
      const params = made as unknown as Parameters;
      return new Training(optimiser, params, await optimiser.init(params), dtype);
    }

    /** Value and gradient with the work of a step: what a program captures. */
    readonly work = async (x: Tensor, labels: Tensor): Promise<Tensor> => {
      const { optimiser, params, state } = this;
      const isScaled = 'scaled' in optimiser;
      const loss = (p: Parameters, pixels: Tensor, wanted: Tensor) => {
        const one = losses.crossEntropy(network.apply(p as never, pixels), wanted);
        return isScaled ? (optimiser as ReturnType<typeof lossScale>).scaled(one, state) : one;
      };
      const { value, grad, statistics } = await withStatistics(loss as never)(params, x, labels);
      const extras = optimiser.name === 'kfac' ? { statistics } : {};
      const { skipped } = await optimiser.step(params, grad, state, extras);
      skipped.dispose();
      for (const one of statistics) {
        one.inputs.dispose();
        one.outputGradients.dispose();
      }
      for (const one of Object.values(grad as unknown as Parameters))
        for (const each of Object.values(one)) each.dispose();
      return value;
    };

    async examples(step: number): Promise<readonly [x: Tensor, labels: Tensor]> {
      const values = small(COUNT * PIXELS, 5 + step);
      // the gradients of this one are not finite
      if (step === 4) values[3] = Infinity;
      const x = await tensor(values, {
        shape: [COUNT, PIXELS],
        device: on(),
        dtype: this.dtype,
      });
      const labels = await tensor(
        Int32Array.from({ length: COUNT }, (_, k) => (k * k + step) % CLASSES),
        { device: on() },
      );
      return [x, labels];
    }

    async step(t: number, work: (x: Tensor, y: Tensor) => unknown = this.work): Promise<number> {
      const [x, labels] = await this.examples(t);
      const value = (await work(x, labels)) as Tensor;
      const told = Number(await value.item());
      for (const one of [x, labels, value]) one.dispose();
      return told;
    }

    get told() {
      const { optimiser, params, state } = this;
      return { optimiser, params, state };
    }

    async refresh(): Promise<number> {
      const { failures } = await this.optimiser.refresh(this.params, this.state);
      const most = Number(await failures.item());
      expect([failures.shape, failures.dtype]).toEqual([[], 'int32']);
      failures.dispose();
      return most;
    }

    /** Parameters and all that the state has, but what only one way of refreshing has. */
    async all(): Promise<Readonly<Record<string, unknown>>> {
      const found: Record<string, unknown> = {};
      for (const [layer, own] of Object.entries(this.params))
        for (const [key, one] of Object.entries(own))
          found[`${layer}.${key}`] = await one.toNested();
      for (const [key, one] of this.state.tensors) {
        if (/refreshes|pending/.test(key)) continue;
        found[key] = await one.toNested();
      }
      return found;
    }

    [Symbol.dispose](): void {
      this.state[Symbol.dispose]();
      for (const own of Object.values(this.params))
        for (const one of Object.values(own)) one.dispose();
    }
  }

  describe(`refreshes that are calls, on ${name}`, () => {
    beforeAll(async () => {
      // what is made once for a device
      for (const dtype of ['float32', 'float64'] as const) {
        using training = await Training.of(adam(), dtype);
        await training.step(1);
      }
    });

    it.each(CASES)(
      '$name: steps are those of a frequency with a delay of 1, replayed or not, bit for bit',
      async ({ name: what, make, counted, behind, dtype = 'float64' }) => {
        {
          // what libraries and kernels keep
          using first = await Training.of(make({ frequency: 'manual' }), dtype);
          await first.step(1);
          await first.refresh();
        }
        const before = await settledUndisposed(memory);
        const isGrouped = what === 'groups';
        {
          using ordinary = await Training.of(make(counted), dtype);
          using called = await Training.of(make({ frequency: 'manual' }), dtype);
          using replayed = await Training.of(make({ frequency: 'manual' }), dtype);
          const [x, labels] = await replayed.examples(1);
          // preparing takes the step of the example
          using step = await prepare(replayed.work, x, labels);
          for (const one of [x, labels]) one.dispose();
          for (let t = 1; t <= STEPS; t++) {
            const value = await called.step(t);
            if (t > 1) {
              const other = await replayed.step(t, step);
              expect([t, other]).toEqual([t, value]);
            }
            if (!isGrouped) {
              const wanted = await ordinary.step(t);
              expect([t, value]).toEqual([t, wanted]);
            }
            if (behind.includes(t)) {
              expect(await called.refresh()).toBe(0);
              expect(await replayed.refresh()).toBe(0);
            }
            expect([t, await replayed.all()]).toEqual([t, await called.all()]);
          }
          // of what a delayed refresh has yet to land nothing differs here: the last one was before
          if (!isGrouped) expect(await called.all()).toEqual(await ordinary.all());
          expect(await called.state.tensors.get('count')?.item()).toBe(STEPS - 1);
          expect(await called.state.tensors.get('skips')?.item()).toBe(1);
        }
        expect(await settledUndisposed(memory)).toEqual(before);
      },
    );

    it('of groups are those of the groups alone, and other groups stay as they are', async () => {
      const parts = () => ({
        others: shampoo({ ...base, frequency: 'manual' }),
        last: adam({ lr: 0.1 }),
      });
      const all = shampoo({ ...base, frequency: 'manual' });
      using both = await Training.of(parameterGroups({ groups: parts(), of: ofLast }), 'float64');
      using alone = await Training.of(all, 'float64');
      await both.step(1);
      await alone.step(1);
      expect(await both.refresh()).toBe(0);
      expect(await alone.refresh()).toBe(0);
      const [found, wanted] = [await both.all(), await alone.all()];
      expect(found['first.weight/root0.0']).toEqual(wanted['first.weight/root0.0']);
      expect(await both.state.tensors.get('others:refreshes')?.item()).toBe(1);
      expect(both.state.tensors.has('last:refreshes')).toBe(false);
    });

    it('of an accumulation are those of its optimiser', async () => {
      const inner = () => shampoo({ ...base, frequency: 'manual' });
      using twice = await Training.of(accumulate(inner(), { every: 2 }), 'float64');
      using once = await Training.of(inner(), 'float64');
      for (let t = 1; t <= 3; t++) {
        for (let k = 0; k < 2; k++) await twice.step(t);
        await once.step(t);
        expect([await twice.refresh(), await once.refresh()]).toEqual([0, 0]);
        const [found, wanted] = [await twice.all(), await once.all()];
        for (const key of Object.keys(wanted))
          expect([key, found[key]]).toEqual([key, wanted[key]]);
      }
    });

    it('before a step was taken change nothing of steps: those behind are as without', async () => {
      for (const make of [
        () => shampoo({ ...base, frequency: 'manual' }),
        () => shampoo({ ...base, eps: 1e-2, mergeDims: false, root: 'qr', frequency: 'manual' }),
        () => soap({ lr: 0.05, frequency: 'manual' }),
      ]) {
        using early = await Training.of(make(), 'float64');
        using plain = await Training.of(make(), 'float64');
        expect(await early.refresh()).toBe(0);
        expect(await early.state.tensors.get('refreshes')?.item()).toBe(0);
        for (let t = 1; t <= 3; t++) {
          await early.step(t);
          await plain.step(t);
          expect(await early.all()).toEqual(await plain.all());
          await early.refresh();
          await plain.refresh();
        }
        expect(await early.all()).toEqual(await plain.all());
        expect(await early.state.tensors.get('refreshes')?.item()).toBe(3);
      }
    });

    it('keep old roots where there are none, say how often, and throw after four times with nothing written', async () => {
      using training = await Training.of(
        shampoo({ ...base, mergeDims: false, frequency: 'manual' }),
        'float64',
      );
      await training.step(1);
      await training.refresh();
      const old = await training.state.tensors.get('last.weight/root0.1')?.toNested();
      await training.state.tensors.get('last.weight/factor0.1')?.fill(NaN);
      for (let k = 1; k <= 4; k++) {
        expect(await training.refresh()).toBe(k);
        expect(await training.state.tensors.get('last.weight/root0.1')?.toNested()).toEqual(old);
      }
      const before = await training.all();
      await expect(training.refresh()).rejects.toMatchObject({ code: 'NO_PRECONDITIONER' });
      expect(await training.all()).toEqual(before);
      // steps go on
      await training.step(2);
    });

    it('can be captured themselves where their method reads nothing, and report failures', async () => {
      const make = () =>
        shampoo({
          ...base,
          eps: 1e-2,
          mergeDims: false,
          root: 'newton',
          rootSteps: 25,
          frequency: 'manual',
        });
      using captured = await Training.of(make(), 'float64');
      using called = await Training.of(make(), 'float64');
      await captured.step(1);
      await called.step(1);
      using nothing = await tensor([0], { device: on() });
      using refresh = await prepare(
        async (_: Tensor) =>
          (await captured.optimiser.refresh(captured.params, captured.state)).failures,
        nothing,
      );
      await called.refresh();
      expect(await captured.all()).toEqual(await called.all());
      for (let t = 2; t <= 4; t++) {
        await captured.step(t);
        await called.step(t);
        using failures = refresh(nothing);
        expect([t, await failures.item()]).toEqual([t, await called.refresh()]);
        expect(await captured.all()).toEqual(await called.all());
      }
      await captured.state.tensors.get('last.weight/factor0.1')?.fill(NaN);
      for (let k = 1; k <= 6; k++) {
        using failures = refresh(nothing);
        expect(await failures.item()).toBe(k);
      }
      expect(await captured.state.tensors.get('refreshes')?.item()).toBe(10);
      // a call looks at calls before it
      expect(await captured.refresh()).toBe(7);
      await expect(captured.refresh()).rejects.toMatchObject({ code: 'NO_PRECONDITIONER' });
    });

    it('are in checkpoints: what is loaded goes on bit for bit, replayed too', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mercer-optim-'));
      try {
        for (const make of [
          () => shampoo({ ...base, frequency: 'manual' }),
          () => soap({ lr: 0.05, frequency: 'manual' }),
          () => kfac({ lr: 0.05, damping: 0.1, frequency: 'manual' }),
        ]) {
          using whole = await Training.of(make(), 'float64');
          using resumed = await Training.of(make(), 'float64');
          for (let t = 1; t <= 2; t++) await whole.step(t);
          await whole.refresh();
          await whole.step(3);
          const path = join(folder, 'state.safetensors');
          await saveCheckpoint(path, whole.told);
          await loadCheckpoint(path, resumed.told);
          const [x, labels] = await resumed.examples(5);
          using step = await prepare(resumed.work, x, labels);
          for (const one of [x, labels]) one.dispose();
          for (let t = 5; t <= 8; t++) {
            await whole.step(t);
            if (t > 5) await resumed.step(t, step);
            expect([t, await resumed.all()]).toEqual([t, await whole.all()]);
            if (t === 6) {
              await whole.refresh();
              await resumed.refresh();
            }
          }
        }
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it('are what a step with a frequency asks for where it is captured', async () => {
      for (const make of [
        () => shampoo({ frequency: 2 }),
        () => soap(),
        () => kfac(),
        () => parameterGroups({ groups: { default: soap() }, of: {} }),
      ]) {
        using training = await Training.of(make(), 'float64');
        const before = await training.all();
        const [x, labels] = await training.examples(1);
        const { optimiser, params, state } = training;
        const work = async (pixels: Tensor, wanted: Tensor) =>
          optimiser.name === 'kfac'
            ? training.work(pixels, wanted)
            : (await optimiser.step(params, params, state)).skipped;
        await expect(prepare(work, x, labels)).rejects.toMatchObject({
          code: 'CAPTURED',
          message: expect.stringContaining(
            "(with 'manual' refreshes are calls of refresh(), between replays)",
          ) as string,
        });
        expect(await training.all()).toEqual(before);
        for (const one of [x, labels]) one.dispose();
      }
    });

    it('read whether they are the first, and refuse to be captured then', async () => {
      using training = await Training.of(soap({ frequency: 'manual' }), 'float64');
      await training.step(1);
      using nothing = await tensor([0], { device: on() });
      const { optimiser, params, state } = training;
      const work = async (_: Tensor) => (await optimiser.refresh(params, state)).failures;
      await expect(prepare(work, nothing)).rejects.toMatchObject({
        code: 'CAPTURED',
        message: expect.stringContaining('the first refresh of a state') as string,
      });
    });

    it('that are captured go on from bases: a state that has none is not loaded under them', async () => {
      const folder = await mkdtemp(join(tmpdir(), 'mercer-optim-'));
      try {
        const [before, behind] = ['before', 'behind'].map((one) => join(folder, one)) as [
          string,
          string,
        ];
        for (const make of [
          () => soap({ frequency: 'manual' }),
          () => shampoo({ ...base, frequency: 'manual', root: 'qr', eps: 1e-2 }),
        ]) {
          using training = await Training.of(make(), 'float64');
          const { optimiser, params, state } = training;
          const of = { optimiser, params, state };
          await training.step(1);
          await saveCheckpoint(before, of);
          await training.refresh();
          await training.step(2);
          // looked at once more outside of a capture
          await training.refresh();
          await saveCheckpoint(behind, of);
          using nothing = await tensor([0], { device: on() });
          using captured = await prepare(
            async (_: Tensor) => (await optimiser.refresh(params, state)).failures,
            nothing,
          );
          const now = await training.all();
          await expect(loadCheckpoint(before, of)).rejects.toMatchObject({
            code: 'WRONG_STATE',
            message: expect.stringMatching(
              /before its first refresh.*call refresh\(\) once/,
            ) as string,
          });
          expect(await training.all()).toEqual(now);
          await loadCheckpoint(behind, of);
          captured(nothing).dispose();
          // where nothing was captured it is loaded, and the next refresh is the first again
          using other = await Training.of(make(), 'float64');
          await loadCheckpoint(before, { optimiser, params: other.params, state: other.state });
          expect(await other.refresh()).toBe(0);
        }
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it('are refused where there is nothing that is refreshed by hand', async () => {
      for (const make of [
        () => adam(),
        () => lbfgs(),
        () => naturalGradient(),
        () => shampoo(),
        () => soap(),
        () => accumulate(adam(), { every: 2 }),
        () => parameterGroups({ groups: { default: soap() }, of: {} }),
      ]) {
        using w = await tensor([[1, 2]], { device: on() });
        const optimiser = make();
        using state = await optimiser.init(w);
        await expect(optimiser.refresh(w, state)).rejects.toMatchObject({
          code: 'INVALID_ARGUMENT',
          message: expect.stringContaining("frequency: 'manual'") as string,
        });
      }
    });

    it('are of the state and the parameters of their optimiser', async () => {
      using training = await Training.of(shampoo({ frequency: 'manual' }), 'float64');
      using other = await Training.of(soap({ frequency: 'manual' }), 'float64');
      const { optimiser, params } = training;
      for (const [given, state] of [
        [params, other.state],
        [{ first: params['first'] }, training.state],
      ] as const) {
        await expect(optimiser.refresh(given as Parameters, state)).rejects.toMatchObject({
          code: 'WRONG_STATE',
        });
      }
      using ofKfac = await Training.of(kfac({ frequency: 'manual' }), 'float64');
      await expect(ofKfac.refresh()).rejects.toMatchObject({ code: 'MISSING_STATISTICS' });
      expect(undisposed(memory())).toBeDefined();
    });

    it.each([
      [() => shampoo({ frequency: 'manual', delay: 1 }), /delay is 1 and frequency 'manual'/],
      [() => soap({ frequency: 'manual', delay: 2 }), /delay is 2 and frequency 'manual'/],
      [() => kfac({ frequency: 'manual', start: 3 }), /start is 3 and frequency 'manual'/],
      [() => shampoo({ frequency: 'manual', start: 1 }), /start is 1 and frequency 'manual'/],
      [() => kfac({ frequency: 'manual', adaptiveDamping: true }), /adapts every 5 steps/],
      [() => shampoo({ frequency: 'never' as 'manual' }), /frequency is "never".*or 'manual'/],
      [() => soap({ frequency: 0 }), /frequency is 0/],
    ])('options that do not go with them are refused: %#', (make, message) => {
      expect(make).toThrow(message);
    });
  });
}
