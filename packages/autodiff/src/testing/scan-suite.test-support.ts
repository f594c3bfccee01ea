import { random, tensor, zeros, type Tensor, type Device } from '@mercer/tensor';
import { beforeAll, describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { expectClose } from '../../test/differences.mjs';
import { checkGradients, grad, hvp, jvp, linearize, scan, type ScanOptions } from '../index.js';
import { codeOf } from '../../test/code-of.mjs';

/** `scan` and its derivatives. */
export function describeScan(device: () => Device): void {
  const on = () => ({ device: device() });

  const numbers = async (x: Tensor): Promise<number[]> =>
    Array.from(await x.toTypedArray(), Number);

  let xs: Tensor<'float64'>;
  let start: Tensor<'float64'>;

  beforeAll(async () => {
    xs = await tensor(Float64Array.of(1, 2, 3, 4), on());
    start = await tensor(Float64Array.of(0.5), { ...on(), shape: [] });
  });

  /** c x + x, beside the square of the carry. */
  const step = async (c: Tensor, x: Tensor) => [await c.mul(x).add(x), c.square()] as const;

  /** The same in a plain loop, with the slope of the last carry by the first. */
  function meaning(first: number, rows: readonly number[]): { carry: number; ys: number[] } {
    let carry = first;
    const ys: number[] = [];
    for (const x of rows) {
      ys.push(carry * carry);
      carry = carry * x + x;
    }
    return { carry, ys };
  }

  describe('scan', () => {
    it('carries from row to row and stacks what each step gives', async () => {
      const { carry, ys } = await scan(step, start, xs);
      const wanted = meaning(0.5, [1, 2, 3, 4]);
      expect(await carry.item()).toBe(wanted.carry);
      expect(await ys.toNested()).toEqual(wanted.ys);
    });

    it('goes from the end with reverse, and leaves ys in the order of xs', async () => {
      const { carry, ys } = await scan(step, start, xs, { reverse: true });
      const wanted = meaning(0.5, [4, 3, 2, 1]);
      expect(await carry.item()).toBe(wanted.carry);
      expect(await ys.toNested()).toEqual(wanted.ys.toReversed());
    });

    it('takes trees, their members in any order, and gives them', async () => {
      const f = async (
        { a, list }: { a: Tensor; list: readonly Tensor[] },
        { row, n }: { row: Tensor; n: Tensor },
      ) => {
        const next = { list: [await (list[0] as Tensor).add(n)], a: await a.add(row) };
        return [next, { sum: next.a, both: [row, n] }] as const;
      };
      const n = await tensor(Int32Array.of(10, 20), on());
      const row = await tensor(Float64Array.of(1, 2, 3, 4), { ...on(), shape: [2, 2] });
      const init = {
        a: await zeros([2], { ...on(), dtype: 'float64' }),
        list: [await zeros([], { ...on(), dtype: 'int32' })],
      };
      const { carry, ys } = await scan(f, init, { row, n });
      expect(await carry.a.toNested()).toEqual([4, 6]);
      expect(await carry.list[0]?.toNested()).toBe(30);
      expect(await ys.sum.toNested()).toEqual([
        [1, 2],
        [4, 6],
      ]);
      expect(await ys.both[0].toNested()).toEqual(await row.toNested());
      expect(await ys.both[1].toNested()).toEqual([10, 20]);
    });

    it('goes without xs for a length, and without ys; what is not its own stays', async () => {
      const doubled = async (c: Tensor) => [await c.mul(2), undefined] as const;
      const { carry, ys } = await scan(doubled, start, undefined, { length: 5 });
      expect([await carry.item(), ys]).toEqual([16, undefined]);
      const same = await scan(async (c: Tensor, x: Tensor) => [c, [x, start]] as const, start, xs);
      for (const one of [same.carry, ...same.ys]) one.dispose();
      expect(await start.item()).toBe(0.5);
      expect(await xs.toNested()).toEqual([1, 2, 3, 4]);
    });

    it.each<readonly [string, ScanOptions]>([
      ['kept', {}],
      ['computed again', { checkpoint: true }],
      ['from the end, computed again', { checkpoint: true, reverse: true }],
    ])('is differentiated in every way, with results %s', async (_, options) => {
      const f = async (c: Tensor, x: Tensor): Promise<Tensor> => {
        const { carry, ys } = await scan(
          async (a: Tensor, b: Tensor) => [await a.sin().mul(b).add(b), a.mul(b)] as const,
          c,
          x,
          options,
        );
        return ys.square().sum().add(carry);
      };
      await checkGradients(f, [start, xs], { key: random.key(3), order: 2 });
      const ones = await tensor(Float64Array.of(1, 1, 1, 1), on());
      const along = (x: Tensor): Promise<Tensor> => f(start, x);
      const twice = await grad(async (x: Tensor) => (await grad(along)(x)).sum())(xs);
      expectClose(await numbers(await hvp(along)(xs, ones)), await numbers(twice), 1e-12);
      const { push, value, dispose } = await linearize(along)(xs);
      const { tangent } = await jvp(along)([xs], [ones]);
      expectClose(await numbers(await push(ones)), await numbers(tangent), 1e-12);
      value.dispose();
      dispose();
    });

    it('differentiates by what f closes over, except with checkpoint', async () => {
      const loss =
        (options: ScanOptions) =>
        async (w: Tensor): Promise<Tensor> =>
          (
            await scan(
              async (c: Tensor, x: Tensor) => [await c.add(w.mul(x)), undefined] as const,
              start,
              xs,
              options,
            )
          ).carry;
      expect(await (await grad(loss({}))(start)).item()).toBe(10);
      expect(await codeOf(() => grad(loss({ checkpoint: true }))(start))).toBe(
        'NOT_DIFFERENTIABLE',
      );
    });

    it('runs a step again with checkpoint, and once without', async () => {
      let runs = 0;
      const f = async (c: Tensor, x: Tensor) => {
        runs++;
        return [await c.mul(x), undefined] as const;
      };
      const of =
        (options: ScanOptions) =>
        async (c: Tensor): Promise<Tensor> =>
          (await scan(f, c, xs, options)).carry;
      expect(await (await grad(of({}))(start)).item()).toBe(24);
      expect(runs).toBe(4);
      expect(await (await grad(of({ checkpoint: true }))(start)).item()).toBe(24);
      expect(runs).toBe(12);
    });

    type F = (c: Tensor, x: Tensor) => Promise<readonly [unknown, unknown]>;
    it.each<readonly [string, string, F, ScanOptions?]>([
      ['a carry of another shape', 'SHAPE_MISMATCH', async (c, x) => [c.add(x).reshape([1]), x]],
      ['a carry of another dtype', 'DTYPE_MISMATCH', async (c, x) => [c.cast('float32'), x]],
      ['a carry that is another tree', 'SHAPE_MISMATCH', async (c, x) => [[c], x]],
      ['a carry that is no tensor', 'INVALID_ARGUMENT', async (_, x) => [3, x]],
      ['a y that is no tensor', 'INVALID_ARGUMENT', async (c) => [c, 3]],
      ['no pair', 'INVALID_ARGUMENT', async (c) => c as never],
      ['a length that is none', 'INVALID_ARGUMENT', async (c, x) => [c, x], { length: 1.5 }],
      ['a length that is not that of xs', 'SHAPE_MISMATCH', async (c, x) => [c, x], { length: 3 }],
      [
        'an option that is none',
        'INVALID_ARGUMENT',
        async (c, x) => [c, x],
        { unroll: 2 } as never,
      ],
      [
        'reverse that is no boolean',
        'INVALID_ARGUMENT',
        async (c, x) => [c, x],
        { reverse: 1 as never },
      ],
    ])('refuses %s: %s', async (_, code, f, options) => {
      expect(await codeOf(() => scan(f as F, start, xs, options as ScanOptions))).toBe(code);
    });

    it('refuses no steps, and what is no function', async () => {
      const none = await zeros([0], on());
      expect(await codeOf(() => scan(step, start, none))).toBe('INVALID_ARGUMENT');
      expect(await codeOf(() => scan(async (c: Tensor) => [c, c], start, undefined))).toBe(
        'INVALID_ARGUMENT',
      );
      expect(await codeOf(() => scan(3 as never, start, xs))).toBe('INVALID_ARGUMENT');
      const second = async (c: Tensor, x: Tensor) =>
        [c, Number(await x.item()) > 1 ? [x] : x] as const;
      expect(await codeOf(() => scan(second, start, xs))).toBe('SHAPE_MISMATCH');
    });

    it('keeps no memory, also after errors and inside gradients', async () => {
      const third = async (c: Tensor, x: Tensor) => {
        const next = await c.mul(x).add(x);
        if (Number(await x.item()) > 2) throw new Error('no');
        return [next, next] as const;
      };
      const loss =
        (options: ScanOptions) =>
        async (c: Tensor): Promise<Tensor> => {
          const { carry, ys } = await scan(step, c, xs, options);
          return ys.sum().add(carry);
        };
      const run = async (): Promise<void> => {
        const { carry, ys } = await scan(step, start, xs);
        for (const one of [carry, ys]) one.dispose();
        await codeOf(() => scan(third, start, xs));
        (await grad(loss({}))(start)).dispose();
        (await grad(loss({ checkpoint: true }))(start)).dispose();
        const both = await jvp(loss({ checkpoint: true }))([start], [start]);
        for (const one of [both.value, both.tangent]) one.dispose();
      };
      await run();
      const kept = await memoryKept(device(), async () => {
        for (let k = 0; k < 10; k++) await run();
        await device().synchronize();
      });
      expect(kept).toEqual(NOTHING);
    });
  });
}
