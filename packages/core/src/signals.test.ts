import { beforeAll, expect, it, vi } from 'vitest';
import * as mercer from './index.js';

type Call = (options: { readonly signal: AbortSignal }) => Promise<unknown>;

const reason = new Error('given up');
const place = { device: 'cpu' } as const;
let a: mercer.Tensor<'float32'>;
let b: mercer.Tensor<'float32'>;
let upstream: mercer.Tensor<'float32'>;
let index: mercer.Tensor<'int32'>;

beforeAll(async () => {
  a = await mercer.tensor([[1, 2]], place);
  b = await mercer.tensor([[2, 3]], place);
  upstream = await mercer.tensor([[1]], place);
  index = await mercer.tensor(Int32Array.of(0), place);
});

const distance = (): mercer.LazyTensor => mercer.lazyI(a, { name: 'x' }).sqdist(mercer.lazyJ(b));

/** Calls that plan and load kernels. */
const CALLS: Readonly<Record<string, Call>> = {
  map: (o) => mercer.map(mercer.formula.neg(mercer.formula.variable('a')), { a }, o),
  sumTo: (o) => mercer.sumTo(a, [1, 1], o),
  scatterAdd: (o) => mercer.scatterAdd(a, index, 1, o),
  gatherRows: (o) => mercer.gatherRows(a, index, o),
  countRows: (o) => mercer.countRows(index, 1, o),
  cdist: (o) => mercer.cdist(a, b, o),
  'cdist.prepare': (o) => mercer.cdist.prepare(a, b, o),
  cdistGrad: (o) => mercer.cdistGrad(upstream, upstream, upstream, upstream, o),
  'cdistGrad.prepare': (o) => mercer.cdistGrad.prepare(upstream, upstream, upstream, upstream, o),
  cdistBackward: (o) => mercer.cdistBackward(upstream, a, b, o),
  runKernel: (o) => mercer.runKernel(mercer.dot, a, b, o),
  'runKernel with prepared rows': (o) => mercer.runKernel(mercer.cosine, a, b, o),
  'runKernel.prepare': (o) => mercer.runKernel.prepare(mercer.dot, a, b, o),
  runKernelBackward: (o) => mercer.runKernelBackward(mercer.dot, upstream, a, b, o),
  precompile: (o) => mercer.precompile([mercer.dot], { ...place, ...o }),
  sum: (o) => distance().sum('j', o),
  nonzero: (o) => distance().nonzero('j', o),
  histogram: (o) => distance().histogram('j', { bins: 2, range: [0, 4], ...o }),
  gradient: (o) => mercer.gradient(distance().reduction('Sum', 'j'), 'x', [[1]], o),
  valueAndGradients: (o) =>
    mercer.valueAndGradients(distance().reduction('LogSumExp', 'j'), { x: 'x' }, o),
};

it.each(Object.entries(CALLS))('%s heeds a signal', async (_, call) => {
  await expect(call({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  // A signal that stays silent changes nothing, and a call after one that was given up is as any other.
  await call({ signal: new AbortController().signal });
});

it('an output is left alone, and the compiler is stopped', async () => {
  process.env['MERCER_CPU'] = 'compiled';
  try {
    const { add, mul, variable } = mercer.formula;
    const out = await mercer.full([1, 2], 7, place);
    // a number that is in no cache
    const kernel = mul(add(variable('a'), Math.random()), variable('a'));
    const controller = new AbortController();
    const call = mercer.map(kernel, { a }, { out, signal: controller.signal });
    const settled = Promise.allSettled([call]);
    await vi.waitFor(
      () => {
        expect(process.getActiveResourcesInfo()).toContain('ProcessWrap');
      },
      { timeout: 10_000, interval: 1 },
    );
    controller.abort(reason);
    expect(await settled).toEqual([{ status: 'rejected', reason }]);
    await vi.waitFor(() => {
      expect(process.getActiveResourcesInfo()).not.toContain('ProcessWrap');
    });
    expect(await out.toNested()).toEqual([[7, 7]]);
  } finally {
    delete process.env['MERCER_CPU'];
  }
});
