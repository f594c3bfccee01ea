import { add, variable, type Expr } from '@mercer/formula';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { covering } from '../../formula/test/covering.mjs';
import {
  compress,
  concat,
  cumSum,
  device,
  diag,
  eye,
  full,
  gatherRows,
  index as indexed,
  linspace,
  map,
  oneHot,
  pad,
  random,
  sort,
  stack,
  take,
  takeAlongAxis,
  tensor,
  tile,
  tril,
  zeros,
  type Pending,
  type Tensor,
} from './index.js';
import { LAUNCH_LIMIT } from './stream-core.js';
import { SLEEP_KERNEL } from './testing/sleep-kernel.test-support.js';

/* Calls that nobody awaits take effect in the order in which they are made. */

const where = { device: 'cpu' } as const;
const SHAPE = [2, 2] as const;
const OLD = [1, 2, 3, 4];
const NEW = [10, 10, 10, 10];
const increment = add(variable('x'), 1);

type Matrix = Tensor<'float32'>;

let increase: Awaited<ReturnType<typeof prepareIncrease>> | undefined;
let copyRows: Awaited<ReturnType<typeof prepareRows>> | undefined;
let index: Tensor<'int32'>;
/** What is written, and read. */
let x: Matrix;
/** What it comes to be. */
let y: Matrix;
/** Less by a number that makes another formula for each test, whose kernel is loaded on the way. */
let less: Matrix;
let more = 3;
let unknown: Expr;

const prepareIncrease = () => map.prepare(increment, { x: y }, { out: x });
const prepareRows = () => gatherRows.prepare(y, index);

beforeAll(async () => {
  index = await tensor(Int32Array.of(0, 1), where);
});

beforeEach(async () => {
  more++;
  unknown = add(variable('x'), more);
  x = await tensor(Float32Array.from(OLD), { ...where, shape: SHAPE });
  y = await full(SHAPE, 10, where);
  less = await full(SHAPE, 10 - more, where);
  increase ??= await prepareIncrease();
  copyRows ??= await prepareRows();
});

const flat = async (of: Tensor | Pending<Tensor>): Promise<readonly number[]> =>
  Array.from((await of.toTypedArray()) as Float32Array);

/** Calls after which x is what y is. */
const WRITES: Readonly<Record<string, () => unknown>> = {
  'a fill': () => x.fill(10),
  'fills of views': () => [0, 1].map((k) => x.slice(null, k).fill(10)),
  'a copy': () => x.copyFrom(y),
  'a copy of a view': () => x.copyFrom(y.slice(0)),
  'a copy into a view': () => x.transpose().copyFrom(y.transpose().flip()),
  'a cast': () => y.cast('float32', { out: x }),
  'a copy of a chain': () => x.copyFrom(y.mul(2).sub(10)),
  'a copy of a pending copy': () => x.copyFrom(y.clone().transpose()),
  'a map': () => map(variable('x'), { x: y }, { out: x }),
  'a map whose kernel is loaded': () => map(unknown, { x: less }, { out: x }),
  'a chain into out': () => y.mul(2).sub(10, { out: x }),
  'a reduction': () => y.reshape([1, 2, 2]).max(0, { out: x }),
  'reductions of chains': () =>
    [0, 1].map((k) =>
      y
        .sub(1)
        .add(1)
        .max(0, { out: x.slice(k) }),
    ),
  'a reduction of several steps': () => y.reshape([1, 2, 2]).norm(0, { out: x }),
  'rows by index': () => gatherRows(y, index, { out: x }),
  'a prepared call': () => copyRows?.(y, index, { out: x }),
  'a copy of what is sorted': () => x.copyFrom(sort(y)),
  'a copy of running sums': () => x.copyFrom(cumSum(y.reshape([2, 2, 1])).reshape(SHAPE)),
  'a copy of tensors that are joined': () =>
    x.copyFrom(concat([y.slice([0, 1]), y.slice([1, 2]).clone()])),
  'a copy of a stack': () => x.copyFrom(stack([y.slice(1), y.slice(0)])),
  'a copy of tiles': () => x.copyFrom(tile(y.slice([0, 1]), [2, 1])),
  'a copy of padding': () => x.copyFrom(pad(y.slice([0, 1]), [[0, 1], [0, 0]], { value: 10 })), // prettier-ignore
  'a copy of what is taken': () => x.copyFrom(take(y, [1, 0], 0)),
  'a copy of what is taken along an axis': () => x.copyFrom(takeAlongAxis(y, [[1, 0], [0, 1]])), // prettier-ignore
  'a copy of what is indexed': () => x.copyFrom(indexed(y, [index, null])),
  'a copy of what a mask keeps': () => x.copyFrom(compress(y, y.gt(0)).reshape(SHAPE)),
  'a copy of a triangle': () => x.copyFrom(tril(y, 1)),
  'a copy of a diagonal matrix': () => x.copyFrom(diag(y.slice(0)).mul(0).add(10)),
  'a copy of one-hot rows': () => x.copyFrom(oneHot(index, 2).mul(0).add(10)),
  'a copy of an identity': () => x.copyFrom(eye(2, where).mul(0).add(10)),
  'a copy of a range': () => x.copyFrom(linspace(10, 10, 4, where).reshape(SHAPE)),
  'a copy of random numbers': () =>
    x.copyFrom(
      random
        .uniform(SHAPE, { key: random.key(1), ...where })
        .mul(0)
        .add(10),
    ),
};

/** Calls that read x, whose elements they give in their order. */
const READS: Readonly<Record<string, () => Promise<readonly number[]>>> = {
  elements: () => flat(x),
  'elements of a view': () => flat(x.transpose().transpose()),
  'nested elements': async () => (await x.toNested<number[][]>()).flat(),
  'a clone': () => flat(x.clone()),
  'a view that is packed': () => flat(x.transpose().contiguous().transpose()),
  'a chain': () => flat(x.add(1).sub(1)),
  'a chain on a pending operand': () => flat(zeros(SHAPE, where).add(x)),
  'a map': () => flat(map(variable('x'), { x })),
  'a map whose kernel is loaded': async () =>
    (await flat(map(unknown, { x }))).map((one) => one - more),
  'a reduction': () => flat(x.reshape([1, 2, 2]).sum(0)),
  'a reduction of a chain': () => flat(x.add(1).sum(1, { keepDims: true }).mul(0).add(x)),
  'a reduction of several steps': () => flat(x.reshape([1, 2, 2]).norm(0, { ord: Infinity })),
  'a triangle': () => flat(tril(x.add(0), 1)),
  padding: () => flat(pad(x, 0)),
  'a diagonal matrix': () => flat(diag(x.reshape([4])).sum(0)),
  'sorted elements': () => flat(sort(x)),
  'running sums': () => flat(cumSum(x.reshape([2, 2, 1]))),
  'tensors that are joined': () => flat(concat([x.slice([0, 1]), x.slice([1, 2])])),
  'elements along an axis': () => flat(takeAlongAxis(x, [[0, 1], [0, 1]])), // prettier-ignore
  'rows of an index': () => flat(indexed(x, [index, null])),
  'what a mask keeps': () => flat(compress(x, x.gt(0))),
  'rows by index': () => flat(gatherRows(x, index)),
  'a prepared call': () => flat(copyRows?.(x, index) as Tensor),
};

/** A third of the calls for each, another one for the next. */
const someOf = <T>(calls: Readonly<Record<string, T>>, turn: number) =>
  covering(Object.entries(calls), turn, 3);
const numbered = <T>(calls: Readonly<Record<string, T>>) =>
  Object.entries(calls).map(([name, call], turn) => [name, call, turn] as const);

describe.each(numbered(WRITES))('behind %s', (_, write, turn) => {
  it.each(someOf(READS, turn))('%s are read', async (__, read) => {
    write();
    expect(await read()).toEqual(NEW);
  });

  it('another write goes', async () => {
    write();
    void x.fill(7);
    expect(await flat(x)).toEqual([7, 7, 7, 7]);
  });

  it('a write of what it reads goes', async () => {
    write();
    for (const one of [y, less]) void one.fill(0);
    expect(await flat(x)).toEqual(NEW);
  });
});

describe.each(numbered(READS))('behind a read: %s', (_, read, turn) => {
  it.each(someOf(WRITES, turn))('%s goes', async (__, write) => {
    const found = read();
    write();
    expect(await found).toEqual(OLD);
    expect(await flat(x)).toEqual(NEW);
  });
});

describe('a write', () => {
  it.each(Object.entries(WRITES))('goes behind a fill: %s', async (_, write) => {
    void x.fill(7);
    write();
    expect(await flat(x)).toEqual(NEW);
  });

  it('is seen by an operand of the same chain', async () => {
    expect(await flat(x.copyFrom(y.add(1)).mul(x))).toEqual([121, 121, 121, 121]);
    expect(await flat(x.fill(2).mul(x))).toEqual([4, 4, 4, 4]);
    expect(await flat(x.copyFrom(x.add(1)).add(x))).toEqual([6, 6, 6, 6]);
  });

  it('stands between chains of the same tensor', async () => {
    const before = x.add(1);
    void x.fill(2);
    const between = before.mul(x);
    void x.fill(4);
    expect(await flat(between.add(x))).toEqual([8, 10, 12, 14]);
    expect(await flat(before)).toEqual([2, 3, 4, 5]);
  });

  it('is not read by a result that was made before and computed on the way', async () => {
    const tens = x.mul(10);
    const more = tens.add(1);
    const most = tens.max(0, { keepDims: true });
    void x.fill(2);
    expect(await flat(tens.minimum(most))).toEqual([10, 20, 30, 40]);
    expect(await flat(more)).toEqual([11, 21, 31, 41]);
  });

  it('is not read by a triangle that was made before', async () => {
    const lower = tril(y.clone().add(x).abs());
    await x.fill(0);
    expect(await flat(lower)).toEqual([11, 0, 13, 14]);
  });

  it('computes a chain into what a chain of another tensor still reads', async () => {
    const first = x.mul(0.5);
    const second = y.mul(0.5);
    void x.copyFrom(second);
    void y.copyFrom(first);
    expect(await flat(x)).toEqual([5, 5, 5, 5]);
    expect(await flat(y)).toEqual([0.5, 1, 1.5, 2]);
  });

  it('waits for a function of several calls that reads what it writes', async () => {
    const copied = x.copyFrom(x.cast('int64').tril().cast('float32'));
    expect(await flat(copied)).toEqual([1, 0, 3, 4]);
  });

  it('that is refused holds up nobody, and lets nobody pass what it waits for', async () => {
    const controller = new AbortController();
    void map(unknown, { x: less }, { out: x });
    const stopped = map(increment, { x }, { out: y, signal: controller.signal });
    const found = flat(map(increment, { x: y }));
    controller.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    expect(await found).toEqual([11, 11, 11, 11]);
    await expect(x.copyFrom(x.transpose())).rejects.toThrow('share');
    expect(await flat(x)).toEqual(NEW);
  });

  it('reads memory whose tensor is disposed meanwhile', async () => {
    for (const k of [0, 1]) void x.slice(null, k).fill(10);
    const copy = flat(x.clone());
    const rows = increase?.({ x }) as Tensor;
    const found = flat(rows);
    for (const one of [x, rows]) one.dispose();
    expect(await copy).toEqual(NEW);
    expect(await found).toEqual([11, 11, 11, 11]);
  });
});

describe('a stream that has no room', () => {
  it('keeps the order of all that wait for it, on two streams', async () => {
    const [cpu, other] = [device('cpu'), device('cpu').createStream()];
    for (const stream of [cpu.defaultStream, other]) {
      await map(increment, { x }, { out: y, stream });
    }
    await x.fill(0);
    // the interpreter cannot sleep: the stream is full there too, if not for as long
    const sleep = await cpu.load(SLEEP_KERNEL).catch(() => undefined);
    sleep?.launch(cpu.defaultStream, { pointers: [], scalars: { ms: 25 } });
    for (let k = 0; k < LAUNCH_LIMIT + 50; k++) {
      void map(increment, { x }, { out: k % 2 === 0 ? y : x });
      if (k % 2 === 0) void map(variable('x'), { x: y }, { out: x });
    }
    void map(increment, { x }, { out: y, stream: other });
    const found = flat(y);
    void x.fill(0);
    const count = LAUNCH_LIMIT + 51;
    expect(await found).toEqual([count, count, count, count]);
    expect(await flat(x)).toEqual([0, 0, 0, 0]);
  });
});
