import { beforeAll, describe, expect, it } from 'vitest';
import { fake, useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { enqueueNative, regionOf, runNative } from './cuda/index.js';
import { device, empty, full, scatterAdd, tensor, zeros } from './index.js';
import type { Device, LoadedKernel, Stream, Tensor } from './index.js';
import { randomBits } from './testing/random.test-support.js';
import { incrementKernel } from './testing/increment-kernel.test-support.js';
import { SLEEP_KERNEL } from './testing/sleep-kernel.test-support.js';

const hasNvrtc = nvrtcFound();
const COUNT = 4096;
/** So many that sums are added by atomics, to zeros. */
const ROWS = 20_000;
const OLD = 3;
const NEW = 5;
const LATE_US = 25_000;

type Row = Tensor<'int32'>;
type Options = { readonly stream: Stream };

let gpu: Device;
let kernel: LoadedKernel;
let byte: Tensor<'uint8'>;
let late: Stream;
let prompt: Stream;
let index: Row;
let ones: Tensor<'float32'>;

beforeAll(async () => {
  if (!hasNvrtc) return;
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  gpu = device('cuda:0');
  kernel = await gpu.load(incrementKernel('cuda'));
  byte = await zeros([16], { dtype: 'uint8', device: gpu });
  index = await tensor(
    Int32Array.from({ length: ROWS }, (_, at) => at),
    { device: gpu },
  );
  ones = await full([ROWS, 1], 1, { device: gpu });
  late = gpu.createStream();
  prompt = gpu.createStream();
  using table = await scatterAdd(ones, index, ROWS, { deterministic: false });
  await table.ready();
});

/** What the stream is given after it is late. */
function hold(stream: Stream): void {
  fake('KERNEL_US', LATE_US);
  kernel.launch(stream, { pointers: [byte], scalars: { n: 1 } });
  fake('KERNEL_US', undefined);
}

const filled = async (value: number, stream: Stream): Promise<Row> => {
  const x = await full([COUNT], value, { device: gpu, dtype: 'int32', stream });
  await stream.synchronize();
  return x;
};

const valuesOf = async (x: Row, options?: Options): Promise<readonly number[]> => [
  ...new Set(await x.toTypedArray(options)),
];

/** A copy by a library. */
function copyNatively(to: Row, from: Row, stream: Stream): void {
  enqueueNative(stream, { what: 'copy', reads: [from], writes: [to] }, ({ stream: native }) => {
    const [target, source] = [regionOf(to), regionOf(from)];
    native.copyDeviceToDevice(
      target.buffer,
      target.byteOffset ?? 0,
      source.buffer,
      source.byteOffset ?? 0,
      4 * COUNT,
    );
  });
}

/** The kernels of the fake driver compute nothing, but its copies and fills are real, and in the order of streams. */
const READS: readonly (readonly [string, (x: Row, o: Options) => Promise<Row>])[] = [
  ['clone', (x, o) => x.clone(o)],
  ['copyFrom', (x, o) => empty([COUNT], { device: gpu, dtype: 'int32' }).copyFrom(x, o)],
  [
    'work of a library',
    (x, { stream }) => {
      const to = empty([COUNT], { device: gpu, dtype: 'int32', stream });
      copyNatively(to, x, stream);
      return Promise.resolve(to);
    },
  ],
];

const WRITES: readonly (readonly [string, (x: Row, value: Row, o: Options) => Promise<unknown>])[] =
  [
    ['fill', (x, _, o) => x.fill(NEW, o)],
    ['copyFrom', (x, value, o) => x.copyFrom(value, o)],
    [
      'work of a library',
      async (x, value, { stream }) => {
        copyNatively(x, value, stream);
      },
    ],
    [
      'work that a library waits for',
      (x, _, { stream }) =>
        runNative(stream, { what: 'set', writes: [x] }, async ({ stream: native }) => {
          const { buffer, byteOffset = 0 } = regionOf(x);
          native.memset(buffer, byteOffset, NEW, 4 * COUNT, 4);
        }),
    ],
    [
      'work on a stream beside',
      async (x, _, { stream }) => {
        using other = gpu.createStream();
        const work = { what: 'set', writes: [x], beside: [other] };
        enqueueNative(stream, work, ({ beside: [native] }) => {
          const { buffer, byteOffset = 0 } = regionOf(x);
          native?.memset(buffer, byteOffset, NEW, 4 * COUNT, 4);
        });
      },
    ],
  ];

describe.skipIf(!hasNvrtc)('work on two streams of a GPU (skipped only without NVRTC)', () => {
  it.each(READS)('%s reads what another stream is still to write', async (_, read) => {
    using x = await filled(OLD, prompt);
    hold(late);
    await x.fill(NEW, { stream: late });
    using found = await read(x, { stream: prompt });
    expect(await valuesOf(found, { stream: prompt })).toEqual([NEW]);
  });

  it.each(READS)('%s has read before another stream writes', async (_, read) => {
    using x = await filled(OLD, prompt);
    hold(late);
    using found = await read(x, { stream: late });
    await x.fill(NEW, { stream: prompt });
    expect(await valuesOf(found)).toEqual([OLD]);
  });

  it.each(WRITES)('%s has written before another stream reads', async (_, write) => {
    using x = await filled(OLD, prompt);
    using value = await filled(NEW, prompt);
    hold(late);
    await write(x, value, { stream: late });
    const found = await valuesOf(x, { stream: prompt });
    // Also where the test fails, its memory is given back behind the work.
    await late.synchronize();
    expect(found).toEqual([NEW]);
  });

  it.each(WRITES)('%s writes behind the reads of another stream', async (_, write) => {
    using x = await filled(OLD, prompt);
    using value = await filled(NEW, prompt);
    hold(late);
    using copy = await x.clone({ stream: late });
    await write(x, value, { stream: prompt });
    expect(await valuesOf(copy, { stream: late })).toEqual([OLD]);
  });

  it('a table of sums is set to 0 behind the reads of another stream', async () => {
    using table = await full([ROWS, 1], OLD, { device: gpu, stream: prompt });
    await prompt.synchronize();
    hold(late);
    using copy = await table.clone({ stream: late });
    await scatterAdd(ones, index, ROWS, { out: table, deterministic: false, stream: prompt });
    expect([...new Set(await copy.toTypedArray({ stream: late }))]).toEqual([OLD]);
  });

  it('a read-back reads what another stream is still to write, and before another writes', async () => {
    using x = await filled(OLD, prompt);
    hold(late);
    await x.fill(NEW, { stream: late });
    expect(await valuesOf(x, { stream: prompt })).toEqual([NEW]);
    hold(late);
    const reading = valuesOf(x, { stream: late });
    await x.fill(OLD, { stream: prompt });
    expect(await reading).toEqual([NEW]);
  });

  it('a move to the host reads what a stream is still to write', async () => {
    using x = await filled(OLD, prompt);
    hold(late);
    await x.fill(NEW, { stream: late });
    using here = await x.to('cpu');
    expect(await valuesOf(here)).toEqual([NEW]);
  });

  it('a move from the host reads what a stream of the CPU is still to write', async () => {
    const cpu = device('cpu');
    const sleep = await cpu.load(SLEEP_KERNEL);
    using stream = cpu.createStream();
    using x = await full([COUNT], OLD, { device: 'cpu', dtype: 'int32' });
    using value = await full([COUNT], NEW, { device: 'cpu', dtype: 'int32' });
    await cpu.synchronize();
    sleep.launch(stream, { pointers: [], scalars: { ms: LATE_US / 1000 } });
    await x.copyFrom(value, { stream });
    using there = await x.to(gpu);
    expect(await valuesOf(there)).toEqual([NEW]);
  });

  it('calls that nobody awaits take effect in their order, on two streams', async () => {
    const bits = randomBits(7);
    const below = (count: number): number => bits() % count;
    const all = await Promise.all([1, 2, 3].map(async (value) => filled(value, prompt)));
    const held = [1, 2, 3];
    const found: Promise<readonly number[]>[] = [];
    const wanted: (readonly number[])[] = [];
    for (let call = 0; call < 300; call++) {
      const [to, from] = [below(3), below(3)];
      const options = { stream: [late, prompt][below(2)] as Stream };
      const [target, source] = [all[to] as Row, all[from] as Row];
      if (call % 50 === 0) hold(late);
      const kind = below(4);
      if (kind === 0) {
        void target.fill(call, options);
        held[to] = call;
      } else if (kind === 1 && to !== from) {
        void target.copyFrom(source, options);
        held[to] = held[from] ?? NaN;
      } else if (kind === 2) {
        found.push(valuesOf(target, options));
        wanted.push([held[to] ?? NaN]);
      } else {
        found.push(target.clone(options).to('cpu').then(valuesOf));
        wanted.push([held[to] ?? NaN]);
      }
    }
    expect(await Promise.all(found)).toEqual(wanted);
    for (const one of all) one.dispose();
  });
});
