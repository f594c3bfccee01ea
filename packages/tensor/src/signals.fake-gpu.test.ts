import { beforeAll, describe, expect, it } from 'vitest';
import { useFakeDriver } from '../../cuda-runtime/test/fake-device.mjs';
import { nvrtcFound } from '../../cuda-runtime/test/find-nvrtc.mjs';
import { neg, variable } from '@mercer/formula';
import './arithmetic/methods.js';
import './arithmetic/reduction-methods.js';
import { countRows } from './count-rows.js';
import { full, tensor, zeros } from './create.js';
import type { Device, Progress } from './device.js';
import { device } from './devices.js';
import { gatherRows } from './gather-rows.js';
import { map } from './map.js';
import { cumSum } from './scan/cum-sum.js';
import { scatterAdd } from './scatter-add.js';
import { sort } from './sorting/sort.js';
import { topK } from './sorting/top-k.js';
import { sumTo } from './sum-to.js';
import type { Tensor } from './tensor.js';
import { abortedEverywhere } from '../test/aborted-everywhere.mjs';
import { undisposedBytes } from '../test/memory-kept.mjs';

const hasNvrtc = nvrtcFound();

type Call = (options: { readonly signal: AbortSignal }) => Promise<unknown>;

const reason = new Error('given up');
/** More than one piece on the way to a GPU. */
const LONG = 2 ** 25 + 1;

let gpu: Device;
let here: Tensor<'float32'>;
let there: Tensor<'float32'>;
let turned: Tensor<'float32'>;
let long: Tensor<'float32'>;
let index: Tensor<'int32'>;

beforeAll(async () => {
  if (!hasNvrtc) return;
  await useFakeDriver({ DEVICES: 1, TOTAL_BYTES: 2 ** 30 });
  gpu = device('cuda:0');
  here = await full([300, 200], 3, { device: 'cpu' });
  there = await zeros([300, 200], { device: gpu });
  turned = there.transpose();
  long = await zeros([LONG], { device: 'cpu' });
  index = await tensor(new Int32Array(300), { device: gpu });
});

const data = new Float32Array(2 ** 21).fill(1);

const CALLS: Readonly<Record<string, Call>> = {
  tensor: (o) => tensor(data, { device: gpu, ...o }),
  zeros: (o) => zeros([3], { device: gpu, ...o }),
  'full of float64': (o) => full([3], 0.1, { device: gpu, dtype: 'float64', ...o }),
  'to the GPU': (o) => here.to(gpu, o),
  'to the GPU, a view': (o) => here.transpose().slice([0, 20]).to(gpu, o),
  'to the host': (o) => there.to('cpu', o),
  'to the host, a view': (o) => turned.slice([0, 20]).to('cpu', o),
  'copyFrom the host': (o) => there.copyFrom(here, o).then(() => undefined),
  'copyFrom the GPU': (o) => here.copyFrom(there, o).then(() => undefined),
  clone: (o) => turned.clone(o),
  cast: (o) => turned.cast('int32', o),
  fill: (o) =>
    turned
      .slice([0, 20])
      .fill(2, o)
      .then(() => undefined),
  toTypedArray: (o) => turned.toTypedArray(o),
  toNested: (o) => there.toNested(o),
  ready: (o) => there.ready(o).then(() => undefined),
  synchronize: (o) => gpu.synchronize(o),
  room: (o) => gpu.defaultStream.room(o),
  sumTo: (o) => sumTo(turned, [1, 1], o),
  scatterAdd: (o) => scatterAdd(there, index, 2, o),
  gatherRows: (o) => gatherRows(there, index, o),
  countRows: (o) => countRows(index, 2, o),
  'map.prepare': (o) => map.prepare(neg(variable('u')), { u: there }, o),
  'sumTo.prepare': (o) => sumTo.prepare(turned, [1, 1], o),
  'scatterAdd.prepare': (o) => scatterAdd.prepare(there, index, 2, o),
  'gatherRows.prepare': (o) => gatherRows.prepare(there, index, o),
  'countRows.prepare': (o) => countRows.prepare(index, 2, o),
  'cumSum.prepare': (o) => cumSum.prepare(turned, 0, o),
  'sort.prepare': (o) => sort.prepare(turned, 1, o),
  topK: (o) => topK(there, 3, 1, o),
  'topK.prepare': (o) => topK.prepare(there, 3, 1, o),
  'add into out': (o) => there.add(1, { out: there, ...o }).then(() => undefined),
  'sum of axis 0': (o) => there.sum(0, o),
  'sum of all, in parts': (o) => there.sum(undefined, o),
  'sum of a chain': (o) => there.add(1).exp().sum(1, o),
  'mean of a view': (o) => turned.mean(0, o),
  argMax: (o) => there.argMax(1, o),
  any: (o) => index.any(0, o),
  var: (o) => there.var(1, o),
  std: (o) => there.std(0, { correction: 1, ...o }),
  'std of whole numbers': (o) => index.std(0, o),
  norm: (o) => there.norm(1, { ord: 3, ...o }),
  logSumExp: (o) => there.logSumExp(1, o),
};

const undisposed = (): number => undisposedBytes(gpu, device('cpu'));

describe.skipIf(!hasNvrtc)('on a GPU behind the fake driver (skipped only without NVRTC)', () => {
  it.each(Object.entries(CALLS))('%s heeds a signal and leaves nothing', async (_, call) => {
    await expect(call({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(await abortedEverywhere((signal) => call({ signal }), undisposed)).toBeGreaterThan(0);
  });

  it('a long way to the GPU is left between pieces, which are told', async () => {
    const before = undisposed();
    const steps: Progress[] = [];
    const controller = new AbortController();
    const { bytes } = long;
    const onProgress = (step: Progress): void => {
      steps.push(step);
      controller.abort(reason);
    };
    const away = long.to(gpu, { signal: controller.signal, onProgress });
    await expect(away).rejects.toBe(reason);
    expect(steps).toEqual([{ done: 2 ** 27, total: bytes }]);
    await gpu.synchronize();
    expect(undisposed()).toBe(before);
    steps.length = 0;
    using whole = await long.to(gpu, { onProgress: (step) => steps.push(step) });
    expect(steps.map(({ done }) => done)).toEqual([2 ** 27, bytes]);
    using back = await whole.to('cpu');
    expect(back.size).toBe(LONG);
  });
});
