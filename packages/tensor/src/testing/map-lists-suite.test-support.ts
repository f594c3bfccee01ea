import { add, div, evaluate, mul, sqrt, sub, variable, type Expr } from '@mercer/formula';
import { describe, expect, it } from 'vitest';
import { empty, tensor, zeros } from '../create.js';
import type { Device } from '../device.js';
import { map } from '../map.js';
import { startProfile } from '../profiler.js';
import type { Tensor } from '../tensor.js';

const [p, g, m, v] = [variable('p'), variable('g'), variable('m'), variable('v')];
const [rate, decay] = [variable('rate'), variable('decay')];
const moment = add(mul(decay, m), mul(sub(1, decay), g));
const square = add(mul(decay, v), mul(sub(1, decay), mul(g, g)));
/** A step of Adam without its corrections. */
const ADAM = { p: sub(p, div(mul(rate, moment), add(sqrt(square), 0.125))), m: moment, v: square };
const PARAMETERS = { rate: 0.25, decay: 0.5 };
const NAMES = ['p', 'm', 'v'] as const;

/** Of a small network, with a scalar and a row longer than what one block or task computes. */
const SHAPES = [[256, 300], [256], [1], [10, 256], [], [70_003]] as const;

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);
const valueAt = (name: string, s: number, i: number): number =>
  ((i * (name.charCodeAt(0) % 5) + s) % 17) / 4 + (name === 'v' ? 0 : -2);

/** The names of what `work` launches. */
async function launched(work: () => Promise<unknown>): Promise<readonly string[]> {
  const profile = startProfile();
  await work();
  return (await profile.stop()).map(({ name }) => name);
}

/** Maps of lists of tensors, tested on any device. */
export function mapListsSuite(name: string, device: () => Device): void {
  const where = () => ({ device: device() });
  const made = (of: string): Promise<Tensor<'float32'>[]> =>
    Promise.all(
      SHAPES.map((shape, s) =>
        tensor(
          Float32Array.from({ length: sizeOf(shape) }, (_, i) => valueAt(of, s, i)),
          { shape: [...shape], ...where() },
        ),
      ),
    );
  const all = async () => ({
    p: await made('p'),
    g: await made('g'),
    m: await made('m'),
    v: await made('v'),
  });

  /** Against the formulas in float64: every operation rounds once, and the root and the quotient lose little. */
  async function check(found: Readonly<Record<(typeof NAMES)[number], readonly Tensor[]>>) {
    for (const key of NAMES) {
      for (const [s, one] of found[key].entries()) {
        expect(one.shape).toEqual(SHAPES[s]);
        const values = await one.toTypedArray();
        for (let i = 0; i < values.length; i++) {
          const inputs = Object.fromEntries(
            ['p', 'g', 'm', 'v'].map((of) => [of, valueAt(of, s, i)] as const),
          );
          const wanted = evaluate(ADAM[key], { ...inputs, ...PARAMETERS });
          const scale = key === 'p' ? 4 : Math.abs(wanted);
          const error = Math.abs(Number(values[i]) - wanted);
          if (error <= 8 * 2 ** -24 * scale) continue;
          expect.fail(`${key} ${s} ${i}: ${values[i]} for ${wanted}`);
        }
      }
    }
  }

  describe(`maps of lists on ${name}`, () => {
    it('map place by place, all tensors of a network in one launch', async () => {
      const inputs = await all();
      const state = { p: inputs.p, m: inputs.m, v: inputs.v };
      const options = { parameters: PARAMETERS };
      const found = await map(ADAM, inputs, options);
      await check(found);
      const names = await launched(async () => {
        const written = await map(ADAM, inputs, { ...options, out: state });
        for (const key of NAMES) {
          for (const [s, one] of written[key].entries()) expect(one).toBe(state[key][s]);
        }
        await written.p[0]?.ready();
      });
      expect(names).toEqual([expect.stringMatching(/ linear in 6 segments: /)]);
      await check(state);
      for (const one of [...NAMES.flatMap((key) => found[key]), ...Object.values(inputs).flat()]) {
        one.dispose();
      }
    });

    it('read what is no list at every place', async () => {
      using scale = await tensor([3], where());
      const inputs = [await tensor([1, 2], where()), await tensor([[5], [7]], where())];
      const found = await map(mul(p, m), { p: inputs, m: scale });
      expect(await Promise.all(found.map((one) => one.toNested()))).toEqual([
        [3, 6],
        [[15], [21]],
      ]);
    });

    it('take every layout and dtype, in as many kernels as these need', async () => {
      using matrix = await tensor(
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        where(),
      );
      const inputs = [
        matrix.transpose(),
        await tensor([1, 2, 3], { dtype: 'int32', ...where() }),
        matrix,
        empty([0, 3], where()),
        matrix.slice(null, [1, 3]),
      ];
      const bias = await tensor([[10], [20]], where());
      const found = await map(add(p, g), {
        p: inputs,
        g: [1, 1, 1, 1, 1].map(() => bias.slice(0)),
      });
      expect(await Promise.all(found.map((one) => one.toNested()))).toEqual([
        [
          [11, 14],
          [12, 15],
          [13, 16],
        ],
        [11, 12, 13],
        [
          [11, 12, 13],
          [14, 15, 16],
        ],
        [],
        [
          [12, 13],
          [15, 16],
        ],
      ]);
    });

    it('take and give parts of matrices, on a GPU in one launch whatever their ranks', async () => {
      const values = (rows: number, columns: number): number[][] =>
        Array.from({ length: rows }, (_, i) =>
          Array.from({ length: columns }, (_, j) => 10 * i + j),
        );
      const inputs = [await tensor(values(3, 4), where()), await tensor([[7], [8], [9]], where())];
      using whole = await zeros([2, 3, 5], where());
      const parts = [
        whole.slice(0, null, [0, 4]),
        whole.slice(0, null, [4, 5]),
        whole.slice(1, null, [1, 5]),
        whole.slice(1, null, [0, 1]),
      ];
      const lists = [...inputs, inputs[0]?.flip(0), inputs[1]] as Tensor[];
      const names = await launched(async () => {
        await map(mul(p, rate), { p: lists }, { out: parts, parameters: { rate: 2 } });
        await whole.ready();
      });
      if (device().limits.kind === 'cuda') {
        expect(names).toEqual([expect.stringMatching(/ strided2 in 4 segments: /)]);
      }
      const doubled = values(3, 4).map((row) => row.map((x) => 2 * x));
      expect(await whole.toNested()).toEqual([
        doubled.map((row, i) => [...row, 14 + 2 * i]),
        doubled.toReversed().map((row, i) => [14 + 2 * i, ...row]),
      ]);
    });

    it('write every dtype that is stored in other words than it is computed in', async () => {
      for (const dtype of ['float16', 'bfloat16', 'uint8', 'bool', 'int64'] as const) {
        const inputs = [
          await tensor([0, 1], { dtype, ...where() }),
          await tensor([[1], [0], [1]], { dtype, ...where() }),
        ];
        const found = await map(sub(1, p), { p: inputs }, { dtype });
        const read = found.map(async (one) => Array.from(await one.toTypedArray(), Number));
        expect(await Promise.all(read)).toEqual([
          [1, 0],
          [0, 1, 0],
        ]);
      }
    });

    it('are told from others by their layouts, numbers and lengths', async () => {
      const lists = [
        [await tensor([1, 2], where()), await tensor([3], where())],
        [await tensor([1, 2], where())],
        [await tensor([1], where()), await tensor([3, 4], where())],
      ];
      for (let call = 0; call < 2; call++) {
        for (const list of lists) {
          for (const by of [1, 5]) {
            const found = await map(add(p, rate), { p: list }, { parameters: { rate: by } });
            const before = await Promise.all(list.map((one) => one.toNested<number[]>()));
            expect(await Promise.all(found.map((one) => one.toNested()))).toEqual(
              before.map((line) => line.map((value) => value + by)),
            );
          }
        }
      }
    });

    it('are prepared, with numbers of each call', async () => {
      const list = [await tensor([1, 2], where()), await tensor([[3]], where())];
      const step = { up: add(p, rate), down: sub(p, rate) };
      const prepared = await map.prepare(step, { p: list }, { parameters: { rate: 1 } });
      const found = prepared({ p: list }, { parameters: { rate: 5 } });
      expect(await Promise.all(found.up.map((one) => one.toNested()))).toEqual([[6, 7], [[8]]]);
      expect(await Promise.all(found.down.map((one) => one.toNested()))).toEqual([
        [-4, -3],
        [[-2]],
      ]);
    });

    it('are several launches where there are more tensors than one takes', async () => {
      const inputs = await Promise.all(
        Array.from({ length: 200 }, (_, s) => tensor([s, -s], where())),
      );
      const formula: Expr = mul(p, p);
      const names = await launched(async () => {
        const found = await map(formula, { p: inputs });
        expect(await found[199]?.toNested()).toEqual([199 ** 2, 199 ** 2]);
        expect(await found[0]?.toNested()).toEqual([0, 0]);
      });
      const { limits } = device();
      // four parameters of eight bytes each
      const isOne = limits.kind === 'cuda' && (limits.parameterBytes ?? 4096) >= 200 * 4 * 8;
      expect(names.filter((one) => one.startsWith('map '))).toHaveLength(isOne ? 1 : 2);
    });

    it('refuse memory that another place reads or writes', async () => {
      const a = await zeros([4], where());
      const [low, high] = [a.slice([0, 2]), a.slice([2, 4])];
      await map(p, { p: [low, high] }, { out: [low, high] });
      const overlap = { code: 'OVERLAP' };
      await expect(map(p, { p: [low, high] }, { out: [high, low] })).rejects.toMatchObject(overlap);
      const both = map(p, { p: [low, high] }, { out: [low, a.slice([1, 3])] });
      await expect(both).rejects.toMatchObject(overlap);
    });
  });
}
