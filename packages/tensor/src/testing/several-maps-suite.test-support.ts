import { add, evaluate, lt, max, mul, sqrt, sub, variable, type Expr } from '@mercer/formula';
import type { DType } from '@mercer/kernels';
import { describe, expect, it } from 'vitest';
import { empty, tensor } from '../create.js';
import type { Device } from '../device.js';
import { map } from '../map.js';
import { planOf } from '../plan-of.js';
import type { Tensor } from '../tensor.js';

const [x, y, scale, row] = [variable('x'), variable('y'), variable('scale'), variable('row')];
const FORMULAS = {
  sum: add(mul(x, scale), y),
  more: mul(add(mul(x, scale), y), row),
  less: lt(x, y),
};

/** Maps of several formulas, tested on any device. */
export function severalMapsSuite(name: string, device: () => Device): void {
  const made = async (dtype: DType): Promise<Tensor> => {
    const values = Array.from({ length: 6 }, (_, i) =>
      Array.from({ length: 40 }, (_, j) => (i * j) % 7),
    );
    return tensor(values, { dtype, device: device() });
  };

  describe(`maps with several results on ${name}`, () => {
    it('give each formula its result, in one kernel', async () => {
      using a = await made('float32');
      using b = await tensor([3], { dtype: 'int32', device: device() });
      const options = { parameters: { scale: 2 }, indices: { row: 0 } };
      const found = await map(FORMULAS, { x: a, y: b }, options);
      const values = await a.toNested<number[][]>();
      const wanted = (expr: Expr): number[][] =>
        values.map((line, i) =>
          line.map((of) => evaluate(expr, { x: of, y: 3, scale: 2, row: i })),
        );
      expect(await found.sum.toNested()).toEqual(wanted(FORMULAS.sum));
      expect(await found.more.toNested()).toEqual(wanted(FORMULAS.more));
      const less = wanted(FORMULAS.less).map((line) => line.map(Boolean));
      expect(await found.less.toNested()).toEqual(less);
      expect([found.sum.dtype, found.less.dtype]).toEqual(['float32', 'bool']);
      expect(planOf(found.sum)).toBe(planOf(found.less));
      for (const one of Object.values(found)) one.dispose();
    });

    it('are written over their inputs, which every formula reads first', async () => {
      using a = await made('float32');
      using b = await map(mul(-1, x), { x: a });
      const [before, negative] = [await a.toNested(), await b.toNested()];
      const found = await map({ a: y, b: x }, { x: a, y: b }, { out: { a, b } });
      expect([found.a, found.b]).toEqual([a, b]);
      expect(await a.toNested()).toEqual(negative);
      expect(await b.toNested()).toEqual(before);
    });

    it('have dtypes and layouts of their own, and leave out what is not given', async () => {
      using a = await made('float64');
      using turned = empty([40, 6], { dtype: 'float64', device: device() });
      const root = turned.transpose();
      const found = await map(
        { root: sqrt(x), whole: max(x, 2), half: x },
        { x: a },
        { out: { root }, dtype: { whole: 'int32', half: 'float16' } },
      );
      expect(found.root).toBe(root);
      const values = await a.toNested<number[][]>();
      expect(await root.toNested()).toEqual(values.map((line) => line.map(Math.sqrt)));
      expect([found.whole.dtype, found.half.dtype]).toEqual(['int32', 'float16']);
      expect(await found.whole.toNested()).toEqual(
        values.map((line) => line.map((of) => Math.max(of, 2))),
      );
      expect(await found.half.toNested()).toEqual(values);
      found.whole.dispose();
      found.half.dispose();
      root.dispose();
    });

    it('are prepared, with numbers of each call', async () => {
      using a = await made('float32');
      const step = { up: add(x, scale), down: sub(x, scale) };
      const prepared = await map.prepare(step, { x: a }, { parameters: { scale: 1 } });
      const values = await a.toNested<number[][]>();
      for (const by of [1, 5]) {
        const found = prepared({ x: a }, { parameters: { scale: by } });
        expect(await found.up.toNested()).toEqual(values.map((line) => line.map((of) => of + by)));
        expect(await found.down.toNested()).toEqual(
          values.map((line) => line.map((of) => of - by)),
        );
        found.up.dispose();
        found.down.dispose();
      }
    });

    it('are told from others by each formula, dtype and place', async () => {
      using a = await made('float32');
      const first = async (
        formulas: Readonly<Record<string, Expr>>,
        dtype?: DType,
      ): Promise<unknown[]> => {
        const all = Object.values(await map(formulas, { x: a }, { dtype }));
        const numbers = await Promise.all(all.map((one) => one.slice([0, 1]).slice(0).toNested()));
        for (const one of all) one.dispose();
        return numbers.map((line) => (line as number[])[0]);
      };
      for (let call = 0; call < 2; call++) {
        expect(await first({ p: add(x, 1.5), q: add(x, 2) })).toEqual([1.5, 2]);
        expect(await first({ p: add(x, 2), q: add(x, 1.5) })).toEqual([2, 1.5]);
        expect(await first({ p: add(x, 1.5), q: add(x, 3) })).toEqual([1.5, 3]);
        expect(await first({ p: add(x, 1.5), q: add(x, 2) }, 'int32')).toEqual([1, 2]);
      }
    });

    it('do nothing for tensors without elements', async () => {
      using none = empty([0, 3], { device: device() });
      const found = await map({ a: x, b: add(x, 1) }, { x: none });
      expect([found.a.shape, found.b.shape]).toEqual([
        [0, 3],
        [0, 3],
      ]);
    });
  });
}
