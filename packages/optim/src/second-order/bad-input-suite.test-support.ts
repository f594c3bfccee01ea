import { memory, tensor, zeros, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it, vi } from 'vitest';
import {
  kfac,
  naturalGradient,
  shampoo,
  soap,
  type LayerStatistics,
  type Optimiser,
  type OptimiserState,
} from '../index.js';
import {
  disposeTree,
  gradientAt,
  initial,
  treeOf,
  valuesOf,
} from '../testing/trajectory.test-support.js';
import { settledUndisposed, undisposed } from '../../../tensor/test/memory-kept.mjs';

type TestTree = Awaited<ReturnType<typeof treeOf>>;

/** Takes a step with gradients that are made of the parameters. */
async function stepped(
  optimiser: Optimiser,
  params: TestTree,
  state: OptimiserState,
  change: (grads: number[][]) => void = () => undefined,
): Promise<number> {
  const { device, dtype } = params.scale;
  const grads = gradientAt(await valuesOf(params), state.step + 1);
  change(grads);
  const tree = await treeOf(grads, device, dtype);
  try {
    const { skipped } = await optimiser.step(params, tree, state);
    const is = Number(await skipped.item());
    skipped.dispose();
    return is;
  } finally {
    disposeTree(tree);
  }
}

async function snapshotOf(state: OptimiserState): Promise<Record<string, unknown>> {
  const entries = [...state.tensors].map(async ([name, one]) => [name, await one.toNested()]);
  return Object.fromEntries(await Promise.all(entries)) as Record<string, unknown>;
}

const slotOf = (state: OptimiserState, name: string): Tensor => {
  const found = state.tensors.get(name);
  if (found === undefined)
    throw new Error(`${name}: there are ${[...state.tensors.keys()].join(', ')}`);
  return found;
};

const FACTORED: readonly (readonly [string, (options?: object) => Optimiser, slot: string])[] = [
  ['shampoo', (options) => shampoo({ mergeDims: false, eps: 1e-3, ...options }), 'root'],
  [
    'shampoo by Newton',
    (options) => shampoo({ mergeDims: false, eps: 1e-1, root: 'newton', ...options }),
    'root',
  ],
  [
    'shampoo by QR',
    (options) => shampoo({ mergeDims: false, eps: 1e-1, root: 'qr', ...options }),
    'root',
  ],
  ['soap', (options) => soap({ frequency: 1, ...options }), 'basis'],
];

const W = 'layers[0].weight';

/** What optimisers of second order make of bad input, and of delays, on any device. */
export function badInputSuite(name: string, on: () => Device, { full = true } = {}): void {
  const where = () => ({ device: on(), dtype: 'float64' as const });
  const small = (values: number[], shape: number[]): PromiseLike<Tensor> =>
    tensor(Float64Array.from(values), { shape, ...where() });

  describe(`optimisers of second order on ${name}`, () => {
    describe.each(FACTORED)('%s', (_, make, slot) => {
      it.each([NaN, Infinity, -Infinity])(
        'skips a step with a gradient of %f, and counts',
        async (bad) => {
          const params = await treeOf(initial(), on(), 'float64');
          const optimiser = make();
          using state = await optimiser.init(params);
          for (let t = 0; t < 3; t++) expect(await stepped(optimiser, params, state)).toBe(0);
          const [before, kept] = [await valuesOf(params), await snapshotOf(state)];
          const skipped = await stepped(optimiser, params, state, (grads) => {
            grads[0]![5] = bad;
          });
          expect(skipped).toBe(1);
          expect(await valuesOf(params)).toEqual(before);
          const now = await snapshotOf(state);
          for (const one of Object.keys(kept).filter((each) =>
            /\/(factor|filtered|graft|m|v)/.test(each),
          )) {
            expect([one, now[one]]).toEqual([one, kept[one]]);
          }
          expect([now['count'], now['skips'], state.step]).toEqual([3, 1, 4]);
          expect(await stepped(optimiser, params, state)).toBe(0);
          for (const one of (await valuesOf(params)).flat()) expect(one).not.toBeNaN();
          disposeTree(params);
        },
      );

      it.each(['float64', 'bfloat16'] as const)(
        'takes parameters and gradients of %s whose elements lie in another order',
        async (dtype) => {
          const optimiser = make({ frequency: 1, maxDim: 2, lr: 0.1 });
          const rows = Array.from({ length: 5 }, (_, i) => Math.sin(3 * i + 1));
          const matrix = (seed: number): Promise<Tensor> =>
            Promise.resolve(
              tensor(
                Float64Array.from({ length: 15 }, (_, i) => Math.cos(seed + 2 * i)),
                { shape: [5, 3], device: on(), dtype },
              ),
            );
          const vector = tensor(Float64Array.from(rows), { device: on(), dtype });
          const [base, room] = [
            await matrix(1),
            await tensor(new Float64Array(10), { device: on(), dtype }),
          ];
          const columns = base.transpose();
          const gaps = room.slice([0, 10, 2]);
          await gaps.copyFrom(vector);
          const views: Record<string, Tensor> = { columns, gaps };
          const plain: Record<string, Tensor> = {
            columns: await columns.clone(),
            gaps: await gaps.clone(),
          };
          using ofViews = await optimiser.init(views);
          using ofPlain = await optimiser.init(plain);
          for (let t = 1; t <= 3; t++) {
            const g = (await matrix(7 * t)).transpose();
            const grads = { columns: g, gaps: await gaps.clone() };
            const rowMajor = { columns: await g.clone(), gaps: grads.gaps };
            (await optimiser.step(views, grads, ofViews)).skipped.dispose();
            (await optimiser.step(plain, rowMajor, ofPlain)).skipped.dispose();
            for (const key of Object.keys(views))
              expect([t, await views[key]?.toNested()]).toEqual([t, await plain[key]?.toNested()]);
            expect(await snapshotOf(ofViews)).toEqual(await snapshotOf(ofPlain));
          }
          // what lies between them stays
          expect(await room.slice([1, 10, 2]).clone().toNested()).toEqual([0, 0, 0, 0, 0]);
        },
      );

      it('has a first step that is skipped, and the next is as a first', async () => {
        const params = await treeOf(initial(), on(), 'float64');
        const optimiser = make({ frequency: 1 });
        using state = await optimiser.init(params);
        await stepped(optimiser, params, state, (grads) => {
          grads[1]![0] = NaN;
        });
        const found = await snapshotOf(state);
        expect(found[`${W}/failures0.0`]).toEqual([0]);
        await stepped(optimiser, params, state);
        for (const one of (await valuesOf(params)).flat()) expect(one).not.toBeNaN();
        expect(await slotOf(state, 'count').item()).toBe(1);
        disposeTree(params);
      });

      it('keeps the old matrix of a factor that has none, counts, and throws after four times', async () => {
        const params = await treeOf(initial(), on(), 'float64');
        const optimiser = make();
        using state = await optimiser.init(params);
        for (let t = 0; t < 5; t++) await stepped(optimiser, params, state);
        const old = await slotOf(state, `${W}/${slot}0.1`).toNested();
        const other = await slotOf(state, `${W}/${slot}0.0`).toNested();
        await slotOf(state, `${W}/factor0.1`).fill(NaN);
        for (let k = 1; k <= 4; k++) {
          expect(await stepped(optimiser, params, state)).toBe(0);
          expect(await slotOf(state, `${W}/${slot}0.1`).toNested()).toEqual(old);
          expect(await slotOf(state, `${W}/failures0.1`).toNested()).toEqual([k]);
        }
        // the others go on
        expect(await slotOf(state, `${W}/${slot}0.0`).toNested()).not.toEqual(other);
        expect(await slotOf(state, `${W}/failures0.0`).toNested()).toEqual([0]);
        const before = await valuesOf(params);
        for (const one of before.flat()) expect(one).not.toBeNaN();
        const kept = await snapshotOf(state);
        await expect(stepped(optimiser, params, state)).rejects.toMatchObject({
          code: 'NO_PRECONDITIONER',
          message: expect.stringMatching(/4 times in a row.*larger eps/) as string,
        });
        // the step wrote nothing
        expect(await valuesOf(params)).toEqual(before);
        expect(await snapshotOf(state)).toEqual(kept);
        disposeTree(params);
      });

      it('keeps the first matrix of a factor without a gradient yet', async () => {
        const params = await treeOf(initial(), on(), 'float64');
        const optimiser = make({ weightDecay: 0 });
        using state = await optimiser.init(params);
        const first = await slotOf(state, `${W}/${slot}0.0`).toNested();
        const before = await valuesOf(params);
        for (let t = 0; t < 3; t++) {
          await stepped(optimiser, params, state, (grads) => {
            grads[0]!.fill(0);
          });
        }
        expect(await slotOf(state, `${W}/${slot}0.0`).toNested()).toEqual(first);
        expect(await slotOf(state, `${W}/failures0.0`).toNested()).toEqual([0]);
        expect((await valuesOf(params))[0]).toEqual(before[0]);
        await stepped(optimiser, params, state);
        for (const one of (await valuesOf(params)).flat()) expect(one).not.toBeNaN();
        disposeTree(params);
      });

      it.each([1, 2, 3])(
        'repeats bit for bit with a delay of %i, also from a state that was copied on the way',
        async (delay) => {
          const options = { delay, frequency: 3, ...(slot === 'root' && { start: 2 }) };
          const runs: { values: number[][]; state: Record<string, unknown> }[] = [];
          const all = [undefined, undefined, 4, 6, 9] as const;
          for (const breaks of full ? all : ([undefined, all[delay + 1]] as const)) {
            const params = await treeOf(initial(), on(), 'float64');
            const optimiser = make(options);
            let state = await optimiser.init(params);
            for (let t = 1; t <= 12; t++) {
              await stepped(optimiser, params, state);
              if (t !== breaks) continue;
              const next = await optimiser.init(params);
              for (const [key, one] of state.tensors) await slotOf(next, key).copyFrom(one);
              next.step = state.step;
              state[Symbol.dispose]();
              state = next;
            }
            runs.push({ values: await valuesOf(params), state: await snapshotOf(state) });
            state[Symbol.dispose]();
            disposeTree(params);
          }
          for (const one of runs) expect(one).toEqual(runs[0]);
        },
      );

      it('gives back all memory, of a state that is disposed with a refresh under way too', async () => {
        const params = await treeOf(initial(), on(), 'float64');
        const optimiser = make({ delay: 2, frequency: 2 });
        const before = await settledUndisposed(memory);
        for (const steps of [4, 5]) {
          const state = await optimiser.init(params);
          for (let t = 0; t < steps; t++) await stepped(optimiser, params, state);
          state[Symbol.dispose]();
          await vi.waitFor(() => expect(undisposed(memory())).toEqual(before));
        }
        disposeTree(params);
      });

      it('moves nothing with a learning rate of 0 but keeps its state', async () => {
        const params = await treeOf(initial(), on(), 'float64');
        const before = await valuesOf(params);
        const optimiser = make({ lr: 0 });
        using state = await optimiser.init(params);
        await stepped(optimiser, params, state);
        expect(await valuesOf(params)).toEqual(before);
        expect(Number(await slotOf(state, `${W}/factor0.0`).max().item())).toBeGreaterThan(0);
        disposeTree(params);
      });

      it('refuses the state of other shapes, and of others', async () => {
        const params = { layers: [{ weight: await small([1, 2, 3, 4], [2, 2]) }] };
        const optimiser = make();
        const others = { layers: [{ weight: await small([1, 2, 3, 4, 5, 6], [2, 3]) }] };
        using state = await optimiser.init(others);
        await expect(optimiser.step(params, params, state)).rejects.toMatchObject({
          code: 'WRONG_STATE',
        });
        using foreign = await naturalGradient().init(params);
        await expect(optimiser.step(params, params, foreign)).rejects.toMatchObject({
          code: 'WRONG_STATE',
        });
      });
    });

    it('has no root of an indefinite factor, and keeps the old one', async () => {
      const params = { w: await small([1, 2, 3, 4], [2, 2]) };
      const grads = { w: await small([1, 0.5, 0.25, 1], [2, 2]) };
      for (const root of ['eigh', 'newton', 'higherOrder'] as const) {
        const optimiser = shampoo({ mergeDims: false, eps: 1e-3, root });
        using state = await optimiser.init(params);
        await optimiser.step(params, grads, state);
        const old = await slotOf(state, 'w/root0.0').toNested();
        await slotOf(state, 'w/factor0.0').copyFrom(await small([-9, 0, 0, 5], [1, 2, 2]));
        await optimiser.step(params, grads, state);
        expect(await slotOf(state, 'w/root0.0').toNested()).toEqual(old);
        expect(await slotOf(state, 'w/failures0.0').toNested()).toEqual([1]);
        expect(await slotOf(state, 'w/failures0.1').toNested()).toEqual([0]);
        // a root that is there again ends the row
        await slotOf(state, 'w/factor0.0').copyFrom(await small([9, 0, 0, 5], [1, 2, 2]));
        await optimiser.step(params, grads, state);
        expect(await slotOf(state, 'w/failures0.0').toNested()).toEqual([0]);
      }
    });

    it('has roots of singular factors by eps', async () => {
      const params = { w: await small([0, 0, 0, 0], [2, 2]) };
      const grads = { w: await small([1, 1, 1, 1], [2, 2]) };
      for (const root of ['eigh', 'newton', 'higherOrder', 'qr'] as const) {
        const optimiser = shampoo({
          lr: 1,
          mergeDims: false,
          grafting: 'none',
          betas: [0, 1],
          eps: 1e-4,
          root,
        });
        using state = await optimiser.init(params);
        await params.w.fill(0);
        await optimiser.step(params, grads, state);
        // both factors are [[2, 2], [2, 2]], of eigenvalue 4, and the gradient lies in it
        const wanted = -1 / Math.sqrt(4 + 1e-4);
        for (const x of await params.w.toTypedArray()) expect(Number(x)).toBeCloseTo(wanted, 8);
      }
    });

    it('has roots in float64 of singular factors that were summed in float32', async () => {
      const optimiser = shampoo({
        lr: 1,
        mergeDims: false,
        grafting: 'none',
        betas: [0, 1],
        eps: 1e-4,
        rootDType: 'float64',
      });
      // of rank 2 in 8 rows: six eigenvalues are 0 but for the rounding of float32, of either sign
      const gradient = Array.from({ length: 16 }, (_, i) => Math.sin(1 + 1.7 * i) / 3);
      const found: number[][] = [];
      for (const dtype of ['float64', 'float32'] as const) {
        const where = { device: on(), dtype };
        const w = await zeros([8, 2], where);
        const grads = {
          w: await tensor(Float32Array.from(gradient), { shape: [8, 2], device: on() }).cast(dtype),
        };
        using state = await optimiser.init({ w });
        await optimiser.step({ w }, grads, state);
        for (const axis of [0, 1]) {
          const failures = await state.tensors.get(`w/failures0.${axis}`)?.toNested();
          expect([dtype, axis, failures]).toEqual([dtype, axis, [0]]);
        }
        found.push(Array.from(await w.toTypedArray(), Number));
      }
      const [wanted = [], single = []] = found;
      expect(Math.max(...wanted.map(Math.abs))).toBeGreaterThan(0.1);
      for (const [i, x] of single.entries())
        expect(Math.abs(x - (wanted[i] ?? NaN))).toBeLessThan(1e-3);
    });

    describe('kfac', () => {
      const tree = async () => ({
        w: await small([1, 2, 3, 4, 5, 6], [2, 3]),
        b: await small([1, 2], [2]),
      });
      const layer = async (
        change: Partial<Record<'inputs' | 'outputGradients', Tensor>> = {},
      ): Promise<LayerStatistics> => ({
        kind: 'linear',
        weight: 'w',
        bias: 'b',
        inputs: await small([1, 2, 3, 4, 5, 7], [2, 3]),
        outputGradients: await small([1, -2, 3, 0.5], [2, 2]),
        ...change,
      });

      it.each([
        ['no statistics', {}, async () => ({}), /needs the statistics of its layers/],
        ['statistics of none', {}, async () => ({ statistics: [] }), /no statistics of w, b\./],
        [
          'statistics without the bias',
          {},
          async () => ({ statistics: [{ ...(await layer()), bias: undefined as never }] }),
          /no statistics of b\..*plain/,
        ],
        [
          'no value',
          { adaptiveDamping: true, start: 1 },
          async () => ({ statistics: [await layer()] }),
          /needs the loss at its parameters/,
        ],
      ] as const)(
        'says that there is, or are, %s, and writes nothing',
        async (_, options, extras, message) => {
          const params = await tree();
          const optimiser = kfac(options);
          using state = await optimiser.init(params);
          if ('adaptiveDamping' in options) state.step = 4;
          const before = await snapshotOf(state);
          const call = optimiser.step(params, params, state, await extras());
          await expect(call).rejects.toMatchObject({
            code: 'MISSING_STATISTICS',
            message: expect.stringMatching(message) as string,
          });
          expect(await snapshotOf(state)).toEqual(before);
          expect(await params.b.toNested()).toEqual([1, 2]);
        },
      );

      it.each([
        [
          'inputs of another width',
          async () => layer({ inputs: await small([1, 2], [2, 1]) }),
          'SHAPE_MISMATCH',
        ],
        [
          'gradients of other examples',
          async () => layer({ outputGradients: await small([1, 2], [1, 2]) }),
          'SHAPE_MISMATCH',
        ],
        [
          'a weight that is not there',
          async () => ({ ...(await layer()), weight: 'v' }),
          'INVALID_ARGUMENT',
        ],
        [
          'a convolution of a matrix',
          async () => ({ ...(await layer()), kind: 'conv2d' as const }),
          'SHAPE_MISMATCH',
        ],
      ] as const)('refuses statistics with %s', async (_, statistics, code) => {
        const params = await tree();
        const optimiser = kfac();
        using state = await optimiser.init(params);
        const call = optimiser.step(params, params, state, { statistics: [await statistics()] });
        await expect(call).rejects.toMatchObject({ code });
        const twice = [await layer(), await layer()];
        await expect(optimiser.step(params, params, state, { statistics: twice })).rejects.toThrow(
          /w twice/,
        );
      });

      it.each(['factored', 'exact'] as const)(
        'takes factors of zeros, and those that are singular: %s',
        async (inverse) => {
          for (const zero of ['inputs', 'outputGradients'] as const) {
            const params = await tree();
            const grads = {
              w: await small([1, 1, 1, 1, 1, 1], [2, 3]),
              b: await small([1, 1], [2]),
            };
            const shape = zero === 'inputs' ? [2, 3] : [2, 2];
            const statistics = [
              await layer({
                [zero]: await small(new Array<number>(shape[0]! * shape[1]!).fill(0), shape),
              }),
            ];
            const optimiser = kfac({ lr: 0.25, damping: 1, inverse });
            using state = await optimiser.init(params);
            await optimiser.step(params, grads, state, { statistics });
            const moved = [...(await params.w.toTypedArray())];
            for (const x of moved) expect(Number.isFinite(x)).toBe(true);
            expect(await slotOf(state, 'w/failures').toNested()).toEqual([0, 0]);
            // with G = 0 both have the root of the damping alone: A + I and I; inputs of zeros leave the 1 of the bias
            if (zero === 'inputs') expect(moved[0]).not.toBe(1);
          }
        },
      );

      it('leaves factors as they are where statistics are not finite, and goes on', async () => {
        const params = await tree();
        const optimiser = kfac({ frequency: 1 });
        using state = await optimiser.init(params);
        await optimiser.step(params, await tree(), state, { statistics: [await layer()] });
        const before = await slotOf(state, 'w/A').toNested();
        const bad = await layer({ inputs: await small([NaN, 2, 3, 4, 5, 7], [2, 3]) });
        await optimiser.step(params, await tree(), state, { statistics: [bad] });
        expect(await slotOf(state, 'w/A').toNested()).toEqual(before);
        for (const x of await params.w.toTypedArray()) expect(Number.isFinite(x)).toBe(true);
      });

      it('skips gradients of NaN, and keeps an inverse where there is none', async () => {
        const params = await tree();
        const optimiser = kfac({ frequency: 1 });
        using state = await optimiser.init(params);
        const statistics = [await layer()];
        await optimiser.step(params, await tree(), state, { statistics });
        const values = await params.w.toNested();
        const grads = { ...(await tree()), b: await small([NaN, 1], [2]) };
        const { skipped } = await optimiser.step(params, grads, state, { statistics });
        expect(await skipped.item()).toBe(1);
        expect(await params.w.toNested()).toEqual(values);
        const old = await slotOf(state, 'w/inverseG').toNested();
        await slotOf(state, 'w/G').fill(NaN);
        for (let k = 1; k <= 4; k++) {
          await optimiser.step(params, await tree(), state, { statistics });
          expect(await slotOf(state, 'w/inverseG').toNested()).toEqual(old);
          expect(await slotOf(state, 'w/failures').toNested()).toEqual([0, k]);
        }
        await expect(
          optimiser.step(params, await tree(), state, { statistics }),
        ).rejects.toMatchObject({
          code: 'NO_PRECONDITIONER',
        });
      });
    });

    it('take steps of kfac and naturalGradient that give back all memory', async () => {
      const params = { w: await small([1, 2, 3, 4], [2, 2]) };
      const grads = { w: await small([1, 2, 3, 4], [2, 2]) };
      const inputs = await small([1, 2, 3, 5, 1, 1], [3, 2]);
      const outputGradients = await small([1, 0, 2, 5, 1, 2], [3, 2]);
      const statistics = [{ kind: 'linear', weight: 'w', inputs, outputGradients }] as const;
      using value = await tensor(1, where());
      const perSample = async () => ({ w: await small([1, 2, 3, 4, 0, 0, 1, 1], [2, 2, 2]) });
      const evaluate = async () => ({
        value: await tensor(1, where()),
        grad: { w: await small([1, 2, 3, 4], [2, 2]) },
      });
      for (const optimiser of [
        kfac({ delay: 1, frequency: 2, adaptiveDamping: true }),
        kfac({ inverse: 'exact', normConstraint: 1 }),
        naturalGradient(),
        naturalGradient({ solver: 'cg' }),
      ]) {
        const before = await settledUndisposed(memory);
        const state = await optimiser.init(params);
        for (let t = 0; t < 6; t++) {
          const extras = { statistics, value, perSample, evaluate };
          (await optimiser.step(params, grads, state, extras)).skipped.dispose();
        }
        state[Symbol.dispose]();
        await vi.waitFor(() => expect(undisposed(memory())).toEqual(before));
      }
    });

    describe('naturalGradient', () => {
      const tree = async () => ({ a: await small([1, 2], [2]), b: await small([3], []) });
      it.each([
        ['empirical', 'perSample', /needs the gradient of each example, and.*\{ perSample \}/],
        ['true', 'modelPerSample', /drawn from the model.*\{ modelPerSample \}/],
      ] as const)('says what is missing: %s', async (fisher, extra, message) => {
        const params = await tree();
        const optimiser = naturalGradient({ fisher });
        using state = await optimiser.init(params);
        const other = extra === 'perSample' ? 'modelPerSample' : 'perSample';
        const call = optimiser.step(params, params, state, {
          [other]: await small([1, 2, 3], [1, 3]),
        });
        await expect(call).rejects.toMatchObject({
          code: 'MISSING_STATISTICS',
          message: expect.stringMatching(message) as string,
        });
        expect(state.step).toBe(0);
      });

      it('refuses gradients of examples of other shapes', async () => {
        const params = await tree();
        const optimiser = naturalGradient();
        using state = await optimiser.init(params);
        for (const perSample of [
          await small([1, 2, 3, 4], [2, 2]),
          { a: await small([1, 2, 3, 4], [2, 2]), b: await small([1], [1]) },
          { a: await small([1, 2, 3, 4], [2, 2]) },
          { a: await small([1, 2], [1, 2]), b: await small([1], [1]), c: await small([1], [1]) },
        ]) {
          await expect(optimiser.step(params, params, state, { perSample })).rejects.toMatchObject({
            code: expect.stringMatching(/SHAPE_MISMATCH|INVALID_ARGUMENT/) as string,
          });
        }
      });

      it('stays where an example is not finite, or none is there, and counts', async () => {
        const params = await tree();
        const grads = await tree();
        const optimiser = naturalGradient({ lr: 0.5, damping: 1, momentum: 0.5 });
        using state = await optimiser.init(params);
        for (const count of [2, 9]) {
          const rows = new Array<number>(3 * count).fill(1);
          rows[4] = NaN;
          await optimiser.step(params, grads, state, { perSample: await small(rows, [count, 3]) });
          expect(await params.a.toNested()).toEqual([1, 2]);
        }
        expect(await slotOf(state, 'failures').item()).toBe(2);
        await optimiser.step(params, grads, state, { perSample: await small([], [0, 3]) });
        // without examples there is the damping alone
        expect(await params.a.toNested()).toEqual([0.5, 1]);
        expect(await slotOf(state, 'failures').item()).toBe(0);
      });
    });
  });
}

type Refusal = readonly [what: string, call: () => unknown, message: RegExp];

/** Options that are refused. */
export const REFUSED: readonly Refusal[] = [
  ['an unknown option', () => shampoo({ learningRate: 1 } as never), /learningRate/],
  ['lr', () => shampoo({ lr: -1 }), /lr is -1/],
  ['lr', () => soap({ lr: NaN }), /lr is NaN/],
  ['betas', () => shampoo({ betas: [1, 1] }), /betas\[0\] is 1/],
  ['betas', () => shampoo({ betas: [0.9] as never }), /two numbers/],
  ['betas', () => soap({ betas: [0.9, 1] }), /betas\[1\] is 1/],
  ['maxDim', () => shampoo({ maxDim: 0 }), /maxDim is 0/],
  ['frequency', () => soap({ frequency: 1.5 }), /frequency is 1.5/],
  ['delay', () => soap({ frequency: 2, delay: 3 }), /delay is 3 and frequency 2/],
  ['grafting', () => shampoo({ grafting: 'lion' as never }), /'none', 'sgd'/],
  ['root', () => shampoo({ root: 'svd' as never }), /'eigh', 'newton'/],
  ['rootSteps', () => shampoo({ rootSteps: 5 }), /root 'eigh', which has none/],
  ['nesterov', () => shampoo({ nesterov: true }), /nesterov with momentum 0/],
  [
    'peakLr',
    () => shampoo({ lr: () => 1, weightDecay: 0.1, decay: 'corrected' }),
    /peakLr is undefined with decay 'corrected'/,
  ],
  ['damping', () => kfac({ damping: 0 }), /damping is 0/],
  ['damping', () => naturalGradient({ damping: 0 }), /damping is 0/],
  ['adaptiveDamping', () => kfac({ adaptiveDamping: true, momentum: 0.5 }), /with momentum 0.5/],
  ['plain', () => kfac({ plain: 'w' as never }), /list of paths/],
  ['inverse', () => kfac({ inverse: 'both' as never }), /'factored' or 'exact'/],
  ['fisher', () => naturalGradient({ fisher: 'false' as never }), /'empirical' or 'true'/],
  ['rtol', () => naturalGradient({ rtol: 1e-3 }), /of solver 'cg'/],
];
