import { empty, tensor, type Device, type Tensor } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { genred, jointReduction, lazyI, lazyJ, rangesFromMatrix } from './index.js';

const [M, N] = [5, 7];
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at);

/** Calls of a prepared reduction again and again: each gives what its own tensors say, and checks them. */
export function describePreparedAgain(device: () => Device): void {
  describe('a prepared call made again', () => {
    const column = (values: readonly number[]): Promise<Tensor<'float64'>> =>
      tensor(Float64Array.from(values), { shape: [values.length, 1], device: device() });
    const place = (): { readonly dtype: 'float64'; readonly device: Device } => ({
      dtype: 'float64',
      device: device(),
    });
    const product = genred('x * y', ['x = Vi(1)', 'y = Vj(1)'], { reduction: 'Sum', axis: 'j' });
    const sum = (values: readonly number[]): number => values.reduce((total, v) => total + v, 0);
    const readable = async (x: Tensor): Promise<number[]> =>
      [...(await x.toTypedArray())].map(Number);

    it('takes other tensors and other results', async () => {
      const y = await column(upTo(N));
      const call = await product.prepare(await column(upTo(M)), y);
      for (const turn of upTo(6)) {
        // of other sizes at times, and of memory that others have had
        const rows = turn === 4 ? M + 3 : M;
        const x = await column(upTo(rows).map((i) => i * turn + 1));
        const out = empty([rows, 1], place());
        expect(call([x, y], { out })).toBe(out);
        expect(await readable(out)).toEqual(upTo(rows).map((i) => (i * turn + 1) * sum(upTo(N))));
        x.dispose();
        out.dispose();
      }
    });

    it('takes other views of the same memory', async () => {
      const all = await column(upTo(4 * N));
      const x = await column([1, 2, 3, 4, 5]);
      const call = await product.prepare(x, all.slice([0, N]));
      const out = empty([M, 1], place());
      for (const start of [0, N, 2 * N]) {
        call([x, all.slice([start, start + N])], { out });
        expect((await readable(out))[0]).toBe(sum(upTo(N).map((j) => j + start)));
      }
      // other strides
      call([x, all.slice([0, 2 * N, 2])], { out });
      expect((await readable(out))[0]).toBe(sum(upTo(N).map((j) => 2 * j)));
    });

    it('takes parameters, and holds tensors of the formula', async () => {
      const p = await tensor(Float64Array.of(2), { device: device() });
      const q = await tensor(Float64Array.of(3), { device: device() });
      const x = await column(upTo(M));
      const scaled = genred('p * x * y', ['p = Pm(1)', 'x = Vi(1)', 'y = Vj(1)'], {
        reduction: 'Sum',
        axis: 'j',
      });
      const y = await column([1, 1]);
      const call = await scaled.prepare(p, x, y);
      const out = empty([M, 1], place());
      for (const [one, factor] of [[p, 2] as const, [q, 3] as const, [p, 2] as const]) {
        call([one, x, y], { out });
        expect(await readable(out)).toEqual(upTo(M).map((i) => 2 * factor * i));
      }
      const held = await lazyI(x).mul(lazyJ(y)).reduction('Sum', 'j').prepare();
      for (const _ of upTo(2)) held([], { out });
      expect(await readable(out)).toEqual(upTo(M).map((i) => 2 * i));
      y.dispose();
      expect(() => held([], { out })).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
    });

    it('is prepared for tensors of any strides, and refuses to be called with those it cannot read', async () => {
      const turned = (await tensor([upTo(M), upTo(M)], place())).transpose();
      const y = await tensor([[1, 1]], place());
      const dot = lazyI({ position: 0, dim: 2 }).dot(lazyJ({ position: 1, dim: 2 }));
      const call = await dot.reduction('Sum', 'j').prepare([turned, y]);
      const out = empty([M, 1], place());
      call([await turned.contiguous(), y], { out });
      expect(await readable(out)).toEqual(upTo(M).map((i) => 2 * i));
      expect(() => call([turned, y], { out })).toThrow(
        expect.objectContaining({ code: 'NOT_CONTIGUOUS' }),
      );
      // without elements there is nothing to read
      await out.fill(7);
      call([await turned.contiguous(), turned.slice([0, 0])], { out });
      expect(await readable(out)).toEqual(upTo(M).map(() => 0));
    });

    it('begins where rows of a tensor of the formula begin', async () => {
      const x = await column([1, 2, 3, 4, 5]);
      const y = await column([1, 1]);
      const later = lazyI(x).mul(lazyJ(y)).rows([2, 4]);
      const call = await later.reduction('Sum', 'j').prepare();
      const out = empty([2, 1], place());
      for (const _ of upTo(3)) {
        await out.fill(0);
        call([], { out });
        expect(await readable(out)).toEqual([6, 8]);
      }
    });

    it('writes the results of several reductions, values and row numbers', async () => {
      const y = await column([3, 1, 2]);
      const formula = lazyI({ position: 0, dim: 1 }).mul(lazyJ(y));
      const joint = jointReduction({
        total: formula.reduction('Sum', 'j'),
        least: formula.reduction('MinArgMin', 'j'),
      });
      const call = await joint.prepare([await column(upTo(M))]);
      const out = {
        total: empty([M, 1], place()),
        least: {
          values: empty([M, 1], place()),
          indices: empty([M, 1], { dtype: 'int32', device: device() }),
        },
      };
      for (const turn of [1, -1, 2]) {
        const x = await column(upTo(M).map((i) => turn * (i + 1)));
        call([x], { out });
        expect(await readable(out.total)).toEqual(upTo(M).map((i) => 6 * turn * (i + 1)));
        expect(await readable(out.least.values)).toEqual(
          upTo(M).map((i) => (turn > 0 ? turn : 3 * turn) * (i + 1)),
        );
        expect(await readable(out.least.indices)).toEqual(upTo(M).map(() => (turn > 0 ? 1 : 0)));
      }
    });

    it('checks tensors as the first call does', async () => {
      const x = await column(upTo(M));
      const y = await column(upTo(N));
      const call = await product.prepare(x, y);
      const out = empty([M, 1], place());
      const before = async (): Promise<void> => {
        call([x, y], { out });
        expect(await readable(out)).toEqual(upTo(M).map((i) => i * sum(upTo(N))));
      };
      const fresh = await product.prepare(x, y);
      const mistake = (made: typeof call, args: readonly Tensor[], to: Tensor): unknown => {
        try {
          made(args, { out: to as Tensor<'float64'> });
        } catch (error) {
          return error;
        }
        return undefined;
      };
      const rejects = (code: string, args: readonly Tensor[], to: Tensor): void => {
        const error = mistake(call, args, to);
        expect(error).toMatchObject({ code });
        expect(error).toEqual(mistake(fresh, args, to));
      };
      await before();
      rejects('SHAPE_MISMATCH', [x, y], empty([M + 1, 1], place()));
      rejects('DTYPE_MISMATCH', [x, await y.cast('float32')], out);
      rejects('DTYPE_MISMATCH', [x, y], empty([M, 1], { dtype: 'float32', device: device() }));
      rejects('OVERLAP', [x, y], x);
      rejects('UNBOUND_VARIABLE', [x], out);
      rejects('INVALID_ARGUMENT', [x, y, y], out);
      rejects('INVALID_ARGUMENT', [x, 'y' as unknown as Tensor], out);
      // as a call that is not prepared takes them
      const apart = call as unknown as (...args: readonly Tensor[]) => unknown;
      expect(() => apart(x, y)).toThrow(/the arguments are .*Pass an array .* call\(\[x, y\]\)/);
      rejects(
        'NOT_CONTIGUOUS',
        [x, y],
        empty([1, 2 * M], place())
          .transpose()
          .slice([0, null, 2]),
      );
      const gone = await column(upTo(N));
      gone.dispose();
      rejects('DISPOSED', [x, gone], out);
      const lost = empty([M, 1], place());
      lost.dispose();
      rejects('DISPOSED', [x, y], lost);
      await before();
    });

    it('ends with its ranges', async () => {
      const x = await column(upTo(M));
      const y = await column(upTo(N));
      const ranges = rangesFromMatrix([[0, M]], [[0, 2]], [[1]]);
      const call = await product.prepare(x, y, { ranges });
      const out = empty([M, 1], place());
      for (const _ of upTo(2)) call([x, y], { out });
      expect(await readable(out)).toEqual(upTo(M));
      call.dispose();
      expect(() => call([x, y], { out })).toThrow(/the prepared call was disposed/);
    });
  });
}
