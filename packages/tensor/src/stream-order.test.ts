import { variable } from '@mercer/formula';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  device,
  empty,
  full,
  gatherRows,
  map,
  scatterAdd,
  sumTo,
  tensor,
  type LoadedKernel,
  type Stream,
  type Tensor,
} from './index.js';
import { SLEEP_KERNEL } from './testing/sleep-kernel.test-support.js';

const LATE_MS = 25;

const place = { device: 'cpu' } as const;
const cpu = device('cpu');
const [ROWS, COLUMNS] = [64, 300];
const SHAPE = [ROWS, COLUMNS] as const;
const OLD = 3;
const NEW = 5;

type Matrix = Tensor<'float32'>;
type Options = { readonly stream: Stream };

let sleep: LoadedKernel;
let zeros: Matrix;
let rows: Tensor<'int32'>;
let late: Stream;
let prompt: Stream;

beforeAll(async () => {
  sleep = await cpu.load(SLEEP_KERNEL);
  zeros = await full(SHAPE, 0, place);
  rows = await tensor(
    Int32Array.from({ length: ROWS }, (_, at) => at),
    place,
  );
  late = cpu.createStream();
  prompt = cpu.createStream();
  // What is compiled when it is first called: no call below waits for a compiler while another stream sleeps.
  using x = await full(SHAPE, OLD, place);
  using other = await full(SHAPE, NEW, place);
  for (const [, read] of READS) await read(x, { stream: prompt });
  for (const [, write] of WRITES) await write(x, other, { stream: prompt });
});

const hold = (stream: Stream): void => {
  sleep.launch(stream, { pointers: [], scalars: { ms: LATE_MS } });
};

type Given = Tensor | ArrayLike<number>;
type Read = (x: Matrix, options: Options) => Promise<Given>;

/** Calls that read x whole; each element of what they give is the one that all of x are. */
const READS: readonly (readonly [name: string, read: Read])[] = [
  ['toTypedArray', (x, o) => x.toTypedArray(o)],
  ['toTypedArray of a large view', (x, o) => x.transpose().toTypedArray(o)],
  ['toTypedArray of a small view', (x, o) => x.slice([0, 4]).transpose().toTypedArray(o)],
  ['clone', (x, o) => x.clone(o)],
  ['clone of a view', (x, o) => x.transpose().clone(o)],
  ['cast', (x, o) => x.cast('float64', o)],
  ['copyFrom', (x, o) => empty(SHAPE, place).copyFrom(x, o)],
  ['map', (x, o) => map(variable('x'), { x }, o)],
  ['add', (x, o) => x.add(zeros, o)],
  ['mean', (x, o) => x.mean(0, o)],
  ['mean of a view', (x, o) => x.transpose().mean(0, o)],
  ['max of a chain', (x, o) => x.add(zeros).max(1, o)],
  ['sumTo', (x, o) => sumTo(x, [1, COLUMNS], o).mul(1 / ROWS, o)],
  ['gatherRows', (x, o) => gatherRows(x, rows, o)],
  ['scatterAdd', (x, o) => scatterAdd(x, rows, ROWS, o)],
];

type Write = (x: Matrix, value: Matrix, options: Options) => Promise<unknown>;

/** Calls that make x what `value` is. */
const WRITES: readonly (readonly [name: string, write: Write])[] = [
  ['fill', (x, _, o) => x.fill(NEW, o)],
  ['fill of a view', (x, _, o) => fillHalves(x, o)],
  ['copyFrom', (x, value, o) => x.copyFrom(value, o)],
  ['copyFrom a view', (x, value, o) => x.copyFrom(value.slice(0).broadcastTo([...SHAPE]), o)],
  ['clone', (x, value, o) => value.clone({ out: x, ...o })],
  ['map', (x, value, o) => map(variable('x'), { x: value }, { out: x, ...o })],
  ['add', (x, value, o) => value.add(zeros, { out: x, ...o })],
  ['max', (x, value, o) => value.reshape([1, ...SHAPE]).max(0, { out: x, ...o })],
  ['sumTo', (x, value, o) => sumTo(value.reshape([1, ...SHAPE]), SHAPE, { out: x, ...o })],
  ['gatherRows', (x, value, o) => gatherRows(value, rows, { out: x, ...o })],
  ['scatterAdd', (x, value, o) => scatterAdd(value, rows, ROWS, { out: x, ...o })],
];

/** Columns with gaps between them: a kernel fills them. */
async function fillHalves(x: Matrix, options: Options): Promise<void> {
  await x.slice(null, [0, 100]).fill(NEW, options);
  await x.slice(null, [100, COLUMNS]).fill(NEW, options);
}

/** The elements of what a call gave, each once. */
async function valuesOf(given: Given): Promise<readonly number[]> {
  if ('dispose' in given) {
    const values = (await given.toTypedArray()) as ArrayLike<number>;
    given.dispose();
    return valuesOf(values);
  }
  return [...new Set(Array.from(given))];
}

describe('work on two streams', () => {
  it.each(READS)('%s reads what another stream is still to write', async (_, read) => {
    using x = await full(SHAPE, OLD, place);
    using value = await full(SHAPE, NEW, place);
    await cpu.synchronize();
    hold(late);
    await x.copyFrom(value, { stream: late });
    expect(await valuesOf(await read(x, { stream: prompt }))).toEqual([NEW]);
  });

  it.each(READS)('%s has read before another stream writes', async (_, read) => {
    using x = await full(SHAPE, OLD, place);
    using value = await full(SHAPE, NEW, place);
    await cpu.synchronize();
    hold(late);
    const reading = read(x, { stream: late });
    // Its read is enqueued, though nobody awaits it: what waits for the device does not resolve before.
    await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, LATE_MS / 5))]);
    await x.copyFrom(value, { stream: prompt });
    expect(await valuesOf(await reading)).toEqual([OLD]);
    expect(await valuesOf(await x.toTypedArray({ stream: prompt }))).toEqual([NEW]);
  });

  it.each(WRITES)('%s has written before another stream reads', async (_, write) => {
    using x = await full(SHAPE, OLD, place);
    using value = await full(SHAPE, NEW, place);
    await cpu.synchronize();
    hold(late);
    await write(x, value, { stream: late });
    expect(await valuesOf(await x.toTypedArray({ stream: prompt }))).toEqual([NEW]);
  });

  it.each(WRITES)('%s writes behind the reads of another stream', async (_, write) => {
    using x = await full(SHAPE, OLD, place);
    using value = await full(SHAPE, NEW, place);
    await cpu.synchronize();
    hold(late);
    using copy = await x.clone({ stream: late });
    await write(x, value, { stream: prompt });
    expect(await valuesOf(await copy.toTypedArray())).toEqual([OLD]);
  });

  it.each(WRITES)('%s writes behind the writes of another stream', async (_, write) => {
    using x = await full(SHAPE, OLD, place);
    using value = await full(SHAPE, NEW, place);
    await cpu.synchronize();
    hold(late);
    await x.copyFrom(zeros, { stream: late });
    await write(x, value, { stream: prompt });
    await late.synchronize();
    expect(await valuesOf(await x.toTypedArray())).toEqual([NEW]);
  });

  it.each(WRITES.filter(([name]) => !name.startsWith('fill')))(
    '%s has read before another stream writes what it read',
    async (_, write) => {
      using x = await full(SHAPE, OLD, place);
      using value = await full(SHAPE, NEW, place);
      await cpu.synchronize();
      hold(late);
      await write(x, value, { stream: late });
      await value.copyFrom(zeros, { stream: prompt });
      expect(await valuesOf(await x.toTypedArray())).toEqual([NEW]);
    },
  );

  it.each(READS)('memory that %s read is another tensor only when it has', async (_, read) => {
    const x = await full(SHAPE, OLD, { ...place, stream: prompt });
    await cpu.synchronize();
    hold(late);
    const reading = read(x, { stream: late });
    await Promise.race([reading, new Promise((resolve) => setTimeout(resolve, LATE_MS / 5))]);
    x.dispose();
    // Of the same size, and of the stream that wrote x: the pool gives it memory that nobody uses any more.
    using next = await full(SHAPE, NEW, { ...place, stream: prompt });
    await prompt.synchronize();
    expect(await valuesOf(await reading)).toEqual([OLD]);
    expect(next.disposed).toBe(false);
  });
});
