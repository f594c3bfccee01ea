import { beforeAll, describe, expect, it } from 'vitest';
import { abortedEverywhere, disposeAll } from '../../tensor/test/aborted-everywhere.mjs';
import * as mercer from './index.js';
import { expectCompilerStopped } from './stopped-compiler.test-support.js';
import { undisposedBytes } from '../../tensor/test/memory-kept.mjs';

type Options = { readonly signal: AbortSignal; readonly stream?: mercer.Stream };
type Call = (options: Options) => Promise<unknown>;

/** A call, and one whose arguments are refused. */
type Row = readonly [name: string, call: Call, refused: Call];

const reason = new Error('given up');
const place = { device: 'cpu' } as const;
let x: mercer.Tensor<'float32'>;
let whole: mercer.Tensor<'int32'>;
let ones: mercer.Tensor<'float32'>;
let wide: mercer.Tensor<'float32'>;
/** What a stream is filled with. */
let busy: mercer.Tensor<'float32'>;

beforeAll(async () => {
  // Else the kernels of an earlier run would be found, and no compiler would start.
  mercer.configureJitCache({ mode: 'off' });
  x = (await mercer.full([4, 3], 0.5, place)).transpose();
  whole = await mercer.tensor(Int32Array.of(1, 2, 3, 4), { ...place, shape: [2, 2] });
  ones = await mercer.full([4, 1], 1, place);
  wide = await mercer.full([3, 5], 0.5, place);
  busy = await mercer.full([3000, 256], 0.5, place);
});

type Reduces = (axes: number | readonly number[], options: Options) => Promise<unknown>;
const NAMES = 'sum mean prod min max argMin argMax any all var std norm logSumExp'.split(' ');
const method = (of: object, name: string): Reduces => (Reflect.get(of, name) as Reduces).bind(of);

const AXES: readonly Row[] = [
  ...NAMES.map((name): Row => [name, (o) => method(x, name)(0, o), (o) => method(x, name)(2, o)]),
  ...NAMES.map((name): Row => [
    `${name} of whole numbers`,
    (o) => method(whole, name)([0, 1], o),
    (o) => method(whole, name)([0, 0], o),
  ]),
  [
    'norm of another order',
    (o) => x.norm(1, { ord: 3, ...o }),
    (o) => x.norm(1, { ord: -3, ...o }),
  ],
];

/** The results of elementwise operations, which are computed before or with the reduction. */
const CHAINS: readonly Row[] = [
  ['sum of a chain', (o) => x.sub(0.25).exp().sum(1, o), (o) => x.sub(0.25).exp().sum(5, o)],
  ['mean of a product', (o) => x.mul(x).mean([0, 1], o), (o) => x.mul(x).mean([0, 2], o)],
  ['var of a chain', (o) => x.add(1).sqrt().var(0, o), (o) => x.add(1).sqrt().var(3, o)],
];

const soft = mercer.genred('Exp(-SqDist(x, y))', ['x = Vi(3)', 'y = Vj(3)'], { axis: 'j' });
const nearest = mercer.genred('SqDist(x, y)', ['x = Vi(3)', 'y = Vj(3)'], {
  reduction: 'KMin_ArgKMin',
  axis: 'j',
  k: 2,
});
const weighted = mercer.genred('SqDist(x, y)', ['x = Vi(3)', 'y = Vj(3)', 'w = Vj(1)'], {
  reduction: 'LogSumExp',
  axis: 'j',
  formula2: 'w',
});
const slope = mercer.genred('Grad(Sum_Reduction(Sin(SqDist(x, y)), 0), x, e)', [
  'x = Vi(3)',
  'y = Vj(3)',
  'e = Vi(1)',
]);
const joint = mercer.jointReduction({
  weight: soft.reduction,
  nearest: nearest.reduction,
});
const rows = (): mercer.Tensor<'float32'> => x.transpose();

/** Symbolic reductions, of tensors and of data that has to be placed. */
const SYMBOLIC: readonly Row[] = [
  ['genred', (o) => soft(rows(), rows(), o), (o) => soft(rows(), wide, o)],
  ['genred of data', (o) => soft(HOST, HOST, { ...place, ...o }), (o) => soft(HOST, [[1]], o)],
  [
    'genred of values and indices',
    (o) => nearest(rows(), rows(), o),
    (o) => nearest(rows(), wide, o),
  ],
  [
    'genred with a weight',
    (o) => weighted(rows(), rows(), rows().slice(null, [0, 1]), o),
    (o) => weighted(rows(), rows(), rows(), o),
  ],
  [
    'genred of a gradient',
    (o) => slope(rows(), rows(), ones, o),
    (o) => slope(rows(), rows(), wide, o),
  ],
  ['jointReduction', (o) => joint.call([rows(), rows()], o), (o) => joint.call([rows(), wide], o)],
  [
    'jointReduction of data',
    (o) => joint.call([HOST, HOST], { ...place, ...o }),
    (o) => joint.call([HOST], { ...place, ...o }),
  ],
  [
    'reduceMany',
    (o) =>
      mercer
        .lazyI(rows())
        .sqdist(mercer.lazyJ(rows()))
        .cos()
        .reduceMany('j', { sum: 'Sum', least: { kind: 'ArgKMin', k: 2 } }, o),
    (o) =>
      mercer
        .lazyI(wide)
        .sqdist(mercer.lazyJ(wide))
        .reduceMany('j', { sum: 'Sun' as 'Sum' }, o),
  ],
  ['withGradients', (o) => energy().call([], o), (o) => energy().call([rows()], o)],
];
const energy = (): mercer.JointReduction =>
  mercer.withGradients(
    mercer.lazyI(rows(), { name: 'x' }).sqdist(mercer.lazyJ(rows())).sqrt().reduction('Sum', 'j'),
    { slope: 'x' },
  );
const HOST = [
  [1, 2, 3],
  [4, 5, 6],
];

const ALL = [...AXES, ...CHAINS, ...SYMBOLIC];

const undisposed = (): number => undisposedBytes(x.device);
const enqueued = (stream: mercer.Stream): number =>
  (stream as never as { enqueued: number }).enqueued;

/** What a call throws at once or rejects with. */
const errorOf = async (call: () => Promise<unknown>): Promise<unknown> => {
  try {
    disposeAll(await call());
  } catch (error) {
    return error;
  }
  return 'it went through';
};

// First of all: no kernel is there yet. What is added up over axes is so by a built-in function.
describe('a reduction that waits for the compiler', () => {
  it.each([...CHAINS, ...SYMBOLIC.filter(([name]) => !name.endsWith('of data'))])(
    'of %s is given up at once, and the compiler is stopped',
    async (_, call) => {
      await expectCompilerStopped((signal) => call({ signal }), undisposed);
    },
  );
});

describe('a reduction', () => {
  it.each(ALL)('of %s, aborted wherever it looks, leaves no memory behind', async (_, call) => {
    expect(await abortedEverywhere((signal) => call({ signal }), undisposed)).toBeGreaterThan(0);
  });

  it.each(ALL)(
    'of %s launches nothing where the signal has aborted, whatever its arguments are',
    async (_, call, refused) => {
      using stream = x.device.createStream();
      const aborted = { signal: AbortSignal.abort(reason), stream };
      const others = enqueued(x.device.defaultStream);
      const before = undisposed();
      expect(await errorOf(() => call(aborted))).toBe(reason);
      // Arguments that are checked at the call are refused there.
      const error = await errorOf(() => refused(aborted));
      if (error !== reason) expect(error).toBeInstanceOf(mercer.MercerError);
      expect(enqueued(stream)).toBe(0);
      expect(enqueued(x.device.defaultStream)).toBe(others);
      expect(undisposed()).toBeLessThanOrEqual(before);
      // They are bad indeed.
      const { signal } = new AbortController();
      expect(await errorOf(() => refused({ signal }))).toBeInstanceOf(mercer.MercerError);
    },
  );

  it('that waits for room on its stream is given up, and enqueues nothing', async () => {
    using stream = x.device.createStream();
    using work = await mercer.cdist(busy, busy, { p: 1.3, stream });
    const fill = await mercer.map.prepare(mercer.formula.variable('u'), { u: ones });
    using out = mercer.empty([4, 1], place);
    while (stream.inFlight < 256) fill({ u: ones }, { out, stream });
    for (const [name, call] of ALL) {
      const [before, at] = [undisposed(), enqueued(stream)];
      const controller = new AbortController();
      const error = errorOf(() => call({ stream, signal: controller.signal }));
      await new Promise((resolve) => setImmediate(resolve));
      controller.abort(reason);
      expect.soft(await error, name).toBe(reason);
      // A copy of data of the host needs no room of its own.
      if (!name.endsWith('of data')) expect.soft(enqueued(stream), name).toBe(at);
      expect.soft(undisposed(), name).toBeLessThanOrEqual(before);
    }
    expect(stream.inFlight).toBeGreaterThan(200);
    expect(work.disposed).toBe(false);
  });
});
