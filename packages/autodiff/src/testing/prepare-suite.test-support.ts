import {
  cumSum,
  gatherRows,
  random,
  scatterAdd,
  stack,
  tensor,
  where,
  zeros,
  type Device,
  type Tensor,
} from '@mercer/tensor';
import { setTimeout } from 'node:timers/promises';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { memoryKept, NOTHING } from '../../../tensor/test/memory-kept.mjs';
import { grad, hvp, jvp, prepare, scan, valueAndGrad } from '../index.js';

type Floats = Tensor<'float32'>;
type Call = (x: Floats, y: Floats) => unknown;

/** A full collection of garbage. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

/** Numbers that no other row of the suite has. */
const numbers = (count: number, seed: number): Float32Array =>
  Float32Array.from({ length: count }, (_, k) => Math.sin(1 + k * 1.7 + seed * 0.31) + 1.5);

/** Tensors of a tree, in its order. */
function tensorsOf(tree: unknown): Tensor[] {
  if (typeof tree !== 'object' || tree === null) return [];
  if ('toTypedArray' in tree) return [tree as Tensor];
  return Object.values(tree).flatMap(tensorsOf);
}

const elementsOf = (tree: unknown): Promise<unknown[]> =>
  Promise.all(tensorsOf(tree).map(async (one) => [one.dtype, one.shape, await one.toTypedArray()]));

function disposeAll(...trees: readonly unknown[]): void {
  for (const one of trees.flatMap(tensorsOf)) one.dispose();
}

const loss = async (x: Floats, y: Floats): Promise<Tensor> => {
  using row = await x.sum(0);
  return await x.sub(y).square().mul(row).mean();
};

const CALLS: Readonly<Record<string, Call>> = {
  'a chain': (x, y) => x.mul(y).sin().add(1).sqrt(),
  'a value with its gradients': valueAndGrad(loss, { argnums: [0, 1] }),
  'a gradient of a gradient': (x, y) =>
    grad((a: Floats) =>
      grad((b: Floats) => b.square().mul(b).mul(y).sum())(a).then((g) => g.sum()),
    )(x),
  'a tangent': (x, y) => jvp(async (a: Floats): Promise<Tensor> => a.exp().mul(y))([x], [y]),
  'a product with a Hessian': (x, y) => hvp((a: Floats) => a.square().mul(a).sum())(x, y),
  'a loop': (x, y) =>
    scan(
      async (carry: Tensor, row: Tensor) => {
        const next = await carry.mul(0.5).add(row);
        return [next, await next.square()] as const;
      },
      y.slice(0),
      x,
    ),
  'a loop that gives no rows': (x, y) =>
    scan(
      async (carry: Tensor, row: Tensor) => [await carry.add(row), undefined] as const,
      y.slice(0),
      x,
    ),
  'a gradient through a loop': (x, y) =>
    grad(async (a: Floats): Promise<Tensor> => {
      const step = async (carry: Tensor, row: Tensor) => [await carry.mul(row), undefined] as const;
      const { carry } = await scan(step, y.slice(0), a);
      return carry.sum();
    })(x),
  'views, and an argument itself': (x, y) => [
    x.transpose(),
    y,
    x.slice(1),
    y.slice(0).broadcastTo([2, 3]),
  ],
  'a constant of host numbers': async (x) =>
    x
      .mul(await tensor([1, 2, 3], { device: x.device }))
      .add(await zeros([4, 3], { device: x.device })),
  'a branch by where': (x, y) => where(x.gt(y), x, y.neg()),
  'sums along an axis, of several kinds': (x) => [cumSum(x, 0), x.max(1), x.softmax()],
  'rows by index': async (x) => {
    const index = await tensor(Int32Array.of(2, 0, 2), { device: x.device });
    const rows = await gatherRows(x, index);
    return scatterAdd(rows, index, 4);
  },
  'random numbers': (x) => {
    const on = { key: random.key(7), device: x.device } as const;
    return [
      random.normal([4, 3], on).mul(x),
      random.uniform([3], { ...on, dtype: 'float16' }),
      x.take(random.permutation(4, on), 0),
    ];
  },
  'memory that is used again': async (x, y) => {
    let value: Floats = await x.clone();
    for (let k = 0; k < 8; k++) {
      using before = value;
      value = await before.mul(y).add(k);
    }
    return value;
  },
};

/** What prepare does, on a device. */
export function prepareSuite(name: string, deviceOf: () => Device): void {
  describe(`prepare on ${name}`, () => {
    const make = (seed: number, shape: readonly number[] = [4, 3]): Promise<Floats> =>
      tensor(numbers(12, seed), { shape, device: deviceOf() });

    it.each(Object.entries(CALLS))(
      '%s gives what the function gives, bit for bit',
      async (_, f) => {
        const prepared = await prepare(f, await make(1), await make(2));
        for (const seed of [1, 3, 5]) {
          const [x, y] = [await make(seed), await make(seed + 1)];
          const wanted = await elementsOf(await awaited(f(x, y)));
          expect(wanted.length).toBeGreaterThan(0);
          expect(await elementsOf(prepared(x, y))).toEqual(wanted);
        }
        prepared.dispose();
      },
    );

    it('results survive later calls and the end', async () => {
      const f = (x: Floats) => [x.mul(2), x.sum()] as const;
      const prepared = await prepare(f, await make(1));
      const [first, second] = [prepared(await make(1)), prepared(await make(2))];
      prepared.dispose();
      expect(await elementsOf(first)).toEqual(await elementsOf(await awaited(f(await make(1)))));
      expect(await elementsOf(second)).toEqual(await elementsOf(await awaited(f(await make(2)))));
    });

    it('trees of arguments are rebuilt, and what is no tensor stays', async () => {
      const f = (
        { w, list: [a] }: { w: Floats; list: readonly [Floats] },
        scale: number,
      ): { out: unknown } => ({ out: w.add(a).mul(scale) });
      const of = async (seed: number) => ({ w: await make(seed), list: [await make(9)] as const });
      using prepared = await prepare(f, await of(1), 3);
      const { out } = prepared(await of(2), 3);
      expect(await elementsOf(out)).toEqual(await elementsOf(await awaited(f(await of(2), 3))));
    });

    it('reads and writes the tensors that the function closes over as they are at each call', async () => {
      const [w, total] = [await make(1), await zeros([4, 3], { device: deviceOf() })];
      const step = async (x: Floats): Promise<void> => {
        await total.copyFrom(total.add(x.mul(w)));
      };
      using prepared = await prepare(step, await make(2));
      await total.fill(0);
      await w.fill(2);
      const x = await make(3);
      prepared(x);
      prepared(x);
      const wanted = numbers(12, 3).map((one) => Math.fround(one * 2));
      expect(await total.toTypedArray()).toEqual(wanted.map((one) => Math.fround(one + one)));
    });

    it('keeps its place among calls that are not enqueued yet', async () => {
      const w = await make(1);
      using prepared = await prepare(async (x: Floats) => x.add(w), await make(2));
      const x = await make(3);
      const before = w.mul(1);
      void w.copyFrom(w.mul(2));
      const sum = prepared(x);
      void w.fill(0);
      const doubled = numbers(12, 1).map((one) => Math.fround(2 * one));
      expect(await sum.toTypedArray()).toEqual(
        numbers(12, 3).map((one, k) => Math.fround(one + (doubled[k] ?? NaN))),
      );
      expect(await before.toTypedArray()).toEqual(numbers(12, 1));
    });

    it('holds a tensor that it reads, also when its owner disposes it', async () => {
      const device = deviceOf();
      const x = await make(2);
      const kept = await memoryKept(device, async () => {
        const w = await make(1);
        const prepared = await prepare(async (one: Floats) => one.mul(w), x);
        w.dispose();
        using product = prepared(x);
        const [a, b] = [numbers(12, 2), numbers(12, 1)];
        expect(await product.toTypedArray()).toEqual(
          a.map((one, k) => Math.fround(one * (b[k] ?? 0))),
        );
        prepared.dispose();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('disposed while calls wait, does them, and keeps nothing', async () => {
      const device = deviceOf();
      const kept = await memoryKept(device, async () => {
        const [w, x, y] = [await make(1), await make(3), await make(4)];
        const prepared = await prepare(async (one: Floats) => one.add(w), x);
        // what the calls read is written before them, and not yet
        const written = w.copyFrom(w.mul(2));
        const results = [prepared(x), prepared(y)];
        prepared.dispose();
        disposeAll(x, y);
        expect(() => prepared(w)).toThrow(expect.objectContaining({ code: 'DISPOSED' }) as Error);
        await written;
        w.dispose();
        for (const [at, sum] of results.entries()) {
          const of = numbers(12, 3 + at);
          const wanted = numbers(12, 1).map((one, k) => Math.fround(2 * one + (of[k] ?? NaN)));
          expect(await sum.toTypedArray()).toEqual(wanted);
        }
        disposeAll(results);
      });
      expect(kept).toEqual(NOTHING);
    });

    it('repeat gives what the function gives when it is called as often, bit for bit, and keeps nothing', async () => {
      interface State {
        readonly x: Floats;
        readonly list: readonly [Floats, Floats];
      }
      /** Its tensors in another order than the argument's; one of them is the argument's own. */
      const f = ({ x, list: [a, still] }: State, w: Floats) => ({
        list: [a.mul(0.5).add(x), still] as const,
        x: x.mul(w).sub(a),
      });
      const start: State = { x: await make(1), list: [await make(2), await make(3)] };
      const w = await make(4);
      const kept = await memoryKept(deviceOf(), async () => {
        using prepared = await prepare(f, start, w);
        for (const count of [1, 2, 7, 1]) {
          let state = start;
          for (let done = 0; done < count; done++) {
            const { list, x } = f(state, w);
            const [one, still] = await Promise.all([list[0], list[1].clone()]);
            const next: State = { x: await x, list: [one, still] };
            if (state !== start) disposeAll(state);
            state = next;
          }
          const got = prepared.repeat(count, start, w);
          expect(await elementsOf([got.x, got.list])).toEqual(
            await elementsOf([state.x, state.list]),
          );
          disposeAll(got, state);
        }
      });
      expect(kept).toEqual(NOTHING);
      expect(await start.x.toTypedArray()).toEqual(numbers(12, 1));
    });

    it('repeat keeps its place among calls that are not enqueued yet', async () => {
      const w = await make(1);
      const prepared = await prepare(async (x: Floats) => x.add(w), await make(2));
      const x = await make(3);
      void w.copyFrom(w.mul(2));
      const sum = prepared.repeat(3, x);
      void w.fill(0);
      const doubled = numbers(12, 1).map((one) => Math.fround(2 * one));
      const add = (one: number, k: number) => Math.fround(one + (doubled[k] ?? NaN));
      expect(await sum.toTypedArray()).toEqual(numbers(12, 3).map(add).map(add).map(add));
      prepared.dispose();
    });

    it('repeat refuses what is not like the first argument, swapped parts of it, and other counts', async () => {
      const x = await make(1);
      const y = await make(2);
      const sum = await prepare((one: Floats) => one.sum(), x);
      expect(() => sum.repeat(2, x)).toThrow(
        /the value is float32 \[4, 3\].* in the first argument, and float32 \[\]/,
      );
      const renamed = await prepare(({ a }: { a: Floats }) => ({ b: a.mul(2) }), { a: x });
      expect(() => renamed.repeat(2, { a: x })).toThrow(/the value was an object of a/);
      const swap = await prepare(([a, b]: readonly [Floats, Floats]) => [b, a] as const, [x, y]);
      expect(() => swap.repeat(2, [x, y])).toThrow(
        expect.objectContaining({ code: 'UNSUPPORTED' }) as Error,
      );
      const scaled = await prepare((k: number, one: Floats) => one.mul(k), 2, x);
      expect(() => scaled.repeat(2, 2, x)).toThrow(/the first argument is 2, and has no tensor/);
      const same = await prepare((one: Floats) => one.mul(2), x);
      for (const count of [0, -1, 1.5, NaN, '2' as unknown as number])
        expect(() => same.repeat(count, x)).toThrow(/count is .* from 1 on/);
      for (const one of [sum, renamed, swap, scaled, same]) one.dispose();
      expect(() => same.repeat(2, x)).toThrow(
        expect.objectContaining({ code: 'DISPOSED' }) as Error,
      );
    });

    it('repeatUntil gives what repeat gives of a state that rests, and a device that repeats alone leaves out the rest', async () => {
      const where = { device: deviceOf(), dtype: 'float64' } as const;
      type Numbers = Tensor<'float64'>;
      interface State {
        readonly x: Numbers;
        readonly rests: Numbers;
      }
      const limits = await tensor([3, 5], where);
      /** Counts up to a limit each. */
      const f = async ({ x, rests }: State) => ({
        x: await x.add(rests.eq(0).cast('float64')),
        rests: await x.add(1).ge(limits).cast('float64'),
      });
      const start: State = { x: await tensor([0, 0], where), rests: await tensor([0, 0], where) };
      using prepared = await prepare(f, start);
      const read = async ({ x }: State) => x.toNested();
      for (const count of [1, 4, 5, 6, 1000]) {
        const wanted = await read(prepared.repeat(count, start));
        expect(await read(prepared.repeatUntil('rests', count, start))).toEqual(wanted);
        expect(wanted).toEqual([Math.min(count, 3), Math.min(count, 5)]);
      }
      // what goes on although it says that it rests tells how often it was done
      const endless = async ({ x }: State) => ({ x: await x.add(1), rests: await x.sub(6) });
      using counting = await prepare(endless, start);
      const isCpu = deviceOf().kind === 'cpu';
      const isAlone = counting.repeatsAlone('rests');
      expect(isAlone || !isCpu).toBe(true);
      // elements -6, -6, then -5, -5, ..: none is 0 after the first; a GPU looks after the second
      const soon = isCpu ? [1, 1] : [2, 2];
      expect(await read(counting.repeatUntil('rests', 20, start))).toEqual(
        isAlone ? soon : [20, 20],
      );
      const at = { x: await tensor([6, 4], where), rests: start.rests };
      // 0 and -2, then 1 and -1
      expect(await read(counting.repeatUntil('rests', 20, at))).toEqual(
        isAlone ? [8, 6] : [26, 24],
      );
      // and anew: 0 and -1, 1 and 0, 2 and 1
      const later = { x: await tensor([6, 5], where), rests: start.rests };
      expect(await read(counting.repeatUntil('rests', 20, later))).toEqual(
        isAlone ? [9, 8] : [26, 25],
      );
      expect(await read(counting.repeat(20, later))).toEqual([26, 25]);
      expect(() => prepared.repeatUntil('other', 2, start)).toThrow(
        /repeatUntil: "other" is undefined in what the function gives/,
      );
      expect(() => prepared.repeatUntil('rests', 0, start)).toThrow(/count is 0/);
      using narrow = await prepare(
        async (one: { readonly y: Floats }) => ({ y: await one.y.mul(2) }),
        {
          y: await make(1),
        },
      );
      expect(() => narrow.repeatUntil('y', 2, { y: start.x as never })).toThrow(
        /"y" is float32 \[4, 3\].*Name a member that is a float64 tensor/,
      );
    });

    it('repetitions that are stopped give what was reached, on a CPU, and later ones are done', async () => {
      const where = { device: deviceOf(), dtype: 'float64' } as const;
      const zero = await tensor([0], where);
      using prepared = await prepare((x: Tensor<'float64'>) => x.add(1), zero);
      const count = deviceOf().kind === 'cpu' ? 1e12 : 10;
      const found = prepared.repeat(count, zero);
      prepared.stop();
      const reached = await found.item();
      expect(reached).toBeGreaterThanOrEqual(1);
      expect(reached).toBeLessThan(1e12);
      expect(await prepared.repeat(7, zero).item()).toBe(7);
    });

    it('that is forgotten is collected, with all that it holds', async () => {
      const place = deviceOf();
      const weights = await tensor(new Float32Array(1000), { device: deviceOf() });
      const forget = async (): Promise<void> => {
        const x = await tensor(new Float32Array(1000), { device: deviceOf() });
        const prepared = await prepare((a: Tensor<'float32'>) => a.mul(weights).exp().sum(), x);
        prepared(x).dispose();
        x.dispose();
      };
      const live = (): number => place.memory().liveBytes;
      /** Bytes once all garbage is gone, or at most so many are left. */
      const settled = async (most: number): Promise<number> => {
        for (let tries = 0; tries < 20 && live() > most; tries++) {
          collectGarbage();
          await setTimeout(5);
        }
        return live();
      };
      await place.synchronize();
      const before = await settled(0);
      await forget();
      expect(live()).toBeGreaterThan(before);
      expect(await settled(before)).toBe(before);
      weights.dispose();
    });

    it('1000 calls keep nothing, and neither does what was prepared once it is disposed', async () => {
      const [x, y] = [await make(1), await make(2)];
      const f = valueAndGrad(loss);
      disposeAll(await f(x, y));
      const kept = await memoryKept(deviceOf(), async () => {
        const prepared = await prepare(f, x, y);
        disposeAll(prepared(x, y));
        const inCalls = await memoryKept(deviceOf(), async () => {
          for (let k = 0; k < 1000; k++) disposeAll(prepared(x, y));
          await deviceOf().synchronize();
        });
        expect(inCalls).toEqual(NOTHING);
        prepared.dispose();
      });
      expect(kept).toEqual(NOTHING);
    });

    it('two functions are prepared beside each other and beside calls of the program', async () => {
      const [x, y] = [await make(1), await make(2)];
      const [f, g] = [CALLS['a loop'] as Call, CALLS['a value with its gradients'] as Call];
      const other = async (): Promise<unknown[]> => {
        const found: unknown[] = [];
        for (let k = 0; k < 40; k++) {
          using sum = await stack([await x.mul(k), y]);
          found.push(await (await sum.sum()).item());
        }
        return found;
      };
      const alone = await other();
      const [one, two, beside] = await Promise.all([prepare(f, x, y), prepare(g, x, y), other()]);
      expect(beside).toEqual(alone);
      expect(await elementsOf(one(x, y))).toEqual(await elementsOf(await awaited(f(x, y))));
      expect(await elementsOf(two(x, y))).toEqual(await elementsOf(await awaited(g(x, y))));
    });

    it('a chain that was made before is computed outside the capture', async () => {
      const [x, w] = [await make(1), await make(2)];
      let calls = 0;
      const outside = [w.mul(2), w.mul(3)];
      const f = (one: Floats) => stack([one, outside[calls++] as never]);
      using prepared = await prepare(f, x);
      const [a, b] = [numbers(12, 1), numbers(12, 2)];
      const wanted = [...a, ...b.map((one) => Math.fround(one * 3))];
      expect([...(await prepared(x).toTypedArray())]).toEqual(wanted);
      expect(await outside[1]?.toTypedArray()).toEqual(b.map((one) => Math.fround(one * 3)));
    });

    it('a chain that is left over does not take the place of the result', async () => {
      const [x, y] = [await make(1), await make(2)];
      // softmax computes the product in kernels of its own
      const f = (a: Floats, b: Floats) => a.mul(b).softmax().mul(b);
      using prepared = await prepare(f, x, y);
      expect(await elementsOf(prepared(y, x))).toEqual(await elementsOf(await f(y, x)));
    });

    it('a function that fails while it is captured leaves nothing', async () => {
      const x = await make(1);
      let calls = 0;
      const kept = await memoryKept(deviceOf(), async () => {
        const f = async (one: Floats): Promise<Tensor> => {
          using twice = await one.mul(2);
          if (++calls === 2) throw new RangeError('mine');
          return await twice.add(1);
        };
        await expect(prepare(f, x)).rejects.toThrow(new RangeError('mine'));
      });
      expect(kept).toEqual(NOTHING);
      expect(await x.toTypedArray()).toEqual(numbers(12, 1));
    });

    it.each<[name: string, f: (x: Floats) => unknown, code: string, message: RegExp]>([
      ['toTypedArray', (x) => x.toTypedArray(), 'CAPTURED', /^toTypedArray reads values inside/],
      ['toNested', (x) => x.add(1).toNested(), 'CAPTURED', /^toNested reads values/],
      ['item', async (x) => (await x.sum()).item(), 'CAPTURED', /^item .*where\(\)/],
      ['print', (x) => x.print(), 'CAPTURED', /^print .*without prepare\(\)/],
      ['ready', (x) => x.ready(), 'CAPTURED', /ready waits/],
      [
        'a stream',
        async (x) => x.clone({ stream: x.device.createStream() }),
        'UNSUPPORTED',
        /one stream/,
      ],
      [
        'prepare',
        async (x) => prepare((one: Floats) => one.mul(1), x),
        'CAPTURED',
        /prepare captures/,
      ],
      [
        'a written argument',
        (x) => x.fill(0),
        'INVALID_ARGUMENT',
        /writes tensor 0 of its arguments/,
      ],
      ['a number', () => 3, 'INVALID_ARGUMENT', /the value is 3/],
    ])('refuses %s inside the function', async (_, f, code, message) => {
      await expect(prepare(f, await make(1))).rejects.toMatchObject({
        code,
        message: expect.stringMatching(message) as string,
      });
    });

    it('a value that leaves the function has no elements', async () => {
      const x = await make(1);
      let left: Tensor | undefined;
      const f = async (one: Floats): Promise<Tensor> => {
        left = await one.mul(2);
        return left.add(1);
      };
      using prepared = await prepare(f, x);
      const one = left as Tensor;
      expect(inspect(one)).toBe('Tensor(float32 [4, 3] on ' + x.device.id + ')');
      for (const use of [
        () => one.toTypedArray(),
        () => one.add(1),
        () => one.ready(),
        () => x.clone().add(one),
      ]) {
        await expect(use()).rejects.toMatchObject({ code: 'CAPTURED' });
      }
      expect(await prepared(x).toTypedArray()).toEqual(
        numbers(12, 1).map((n) => Math.fround(Math.fround(n * 2) + 1)),
      );
    });

    it('a prepared function is neither differentiated nor prepared', async () => {
      const x = await make(1);
      using prepared = await prepare((one: Floats) => one.square().sum(), x);
      await expect(grad((one: Floats) => prepared(one))(x)).rejects.toMatchObject({
        code: 'NOT_DIFFERENTIABLE',
        message: expect.stringMatching(/prepare the derivative/) as string,
      });
      await expect(prepare((one: Floats) => prepared(one), x)).rejects.toMatchObject({
        code: 'CAPTURED',
        message: expect.stringMatching(/a prepared function is replayed/) as string,
      });
    });

    it('refuses arguments that are not like the example', async () => {
      const f = (tree: { a: Floats; b: readonly Floats[] }, scale: number): unknown =>
        tree.a.mul(scale).add(tree.b[0] as Floats);
      const x = await make(1);
      const prepared = await prepare(f, { a: x, b: [x] }, 2);
      const refuses = (args: readonly unknown[], code: string, message: RegExp): void => {
        const call = (): unknown => (prepared as (...all: readonly unknown[]) => unknown)(...args);
        expect(call).toThrow(expect.objectContaining({ code }) as Error);
        expect(call).toThrow(message);
      };
      const long = await make(1, [2, 6]);
      refuses([{ a: x, b: [x] }], 'INVALID_ARGUMENT', /1 arguments were given/);
      refuses(
        [{ a: long, b: [x] }, 2],
        'SHAPE_MISMATCH',
        /argument 0\.a was \[4, 3\].* is \[2, 6\]/,
      );
      refuses([{ a: x, b: [x, x] }, 2], 'INVALID_ARGUMENT', /argument 0\.b was a list of 1/);
      refuses([{ a: x }, 2], 'INVALID_ARGUMENT', /argument 0 was an object of a, b/);
      refuses([{ a: x, b: [x], c: x }, 2], 'INVALID_ARGUMENT', /an object of a, b, c/);
      refuses([{ a: x, b: [x] }, 3], 'INVALID_ARGUMENT', /argument 1 was 2 .* is 3/);
      refuses([{ a: x, b: [4] }, 2], 'INVALID_ARGUMENT', /argument 0\.b\[0\] was a tensor/);
      refuses([{ a: x.mul(1), b: [x] }, 2], 'INVALID_ARGUMENT', /Await it/);
      refuses([{ a: await x.cast('float64'), b: [x] }, 2], 'DTYPE_MISMATCH', /float32 .* float64/);
      refuses(
        [{ a: (await make(1, [3, 4])).transpose(), b: [x] }, 2],
        'INVALID_ARGUMENT',
        /strides 1,4/,
      );
      const gone = await make(1);
      gone.dispose();
      refuses([{ a: gone, b: [x] }, 2], 'DISPOSED', /was disposed/);
      prepared.dispose();
      prepared.dispose();
      refuses([{ a: x, b: [x] }, 2], 'DISPOSED', /a prepared function: it was disposed/);
    });

    it('takes an argument that lies otherwise, where the example did', async () => {
      const of = async (seed: number) => (await make(seed, [3, 4])).transpose();
      using prepared = await prepare((x: Floats) => x.mul(2), await of(1));
      expect(await elementsOf(prepared(await of(2)))).toEqual(
        await elementsOf(await (await of(2)).mul(2)),
      );
    });

    it('takes an argument that lies alike but along axes of one element', async () => {
      const of = async (seed: number) => (await make(seed, [1, 12])).transpose();
      using prepared = await prepare((x: Floats) => x.mul(2), await of(1));
      const x = await make(2, [12, 1]);
      expect(x.strides).not.toEqual((await of(1)).strides);
      expect(await elementsOf(prepared(x))).toEqual(await elementsOf(await x.mul(2)));
      expect(await elementsOf(prepared.repeat(2, x))).toEqual(await elementsOf(await x.mul(4)));
    });

    it('refuses examples without tensors, with gaps, and of something else', async () => {
      const x = await make(1);
      const refused = async (
        args: readonly unknown[],
        code: string,
        message: RegExp,
      ): Promise<void> => {
        const call = prepare as (...given: readonly unknown[]) => Promise<unknown>;
        await expect(call(() => x, ...args)).rejects.toMatchObject({
          code,
          message: expect.stringMatching(message) as string,
        });
      };
      await refused([3], 'INVALID_ARGUMENT', /no argument of the example has a tensor/);
      await refused([x.slice([0, 4], [0, 2])], 'NOT_CONTIGUOUS', /argument 0 is a view with gaps/);
      await refused([{ x, rate: 0.1 }], 'INVALID_ARGUMENT', /argument 0\.rate is 0\.1/);
      await expect(prepare(3 as never, x)).rejects.toThrow(/prepare: expected a function/);
    });
  });
}

/** A tree with its promises awaited. */
async function awaited(tree: unknown): Promise<unknown> {
  const one = await tree;
  if (tensorsOf(one)[0] === one) return one;
  if (Array.isArray(one)) return Promise.all(one.map(awaited));
  if (typeof one !== 'object' || one === null) return one;
  const entries = Object.entries(one).map(async ([name, each]) => [name, await awaited(each)]);
  return Object.fromEntries((await Promise.all(entries)) as [string, unknown][]);
}
