import { beforeAll, describe, expect, it } from 'vitest';
import * as mercer from './index.js';

const escaped = (text: string): string => text.replaceAll(/[()?.]/g, '\\$&');

type Loose = (...args: readonly unknown[]) => unknown;
const { cdist, gradient, runKernel, scatterAdd, solveCholesky, tensor, weightedDifferences } =
  mercer as unknown as Record<string, Loose>;
const { genred, kernels, lazyI, lazyJ } = mercer;
const cpu = { device: 'cpu' } as const;

let a: mercer.Tensor<'float32'>;
/** What an asynchronous function of the caller gives, not awaited. */
let promise: Promise<mercer.Tensor>;
beforeAll(async () => {
  a = await mercer.tensor([[1, 2]], cpu);
  promise = Promise.resolve(await mercer.tensor([[1]], cpu));
});

const row = genred('SqDist(x, y) + p', ['x = Vi(2)', 'y = Vj(2)', 'p = Pm(1)']);
const rows = row as unknown as Loose;
const x = (): Record<string, Loose> => lazyI(a) as never;
const distances = (): Record<string, Loose> => lazyI(a).sqdist(lazyJ(a)) as never;

type Case = readonly [what: string, call: () => unknown, message: RegExp | string];

/** What a promise in the place of a tensor is answered with, whole. */
const forgotten = (what: string): string => `${what} is a Promise. Did you forget await?`;
const PROMISE = 'a Promise (did you forget await?)';

const FORGOTTEN: readonly Case[] = [
  ['cdist, a', () => cdist?.(promise, a), forgotten('cdist: a')],
  ['lazyI, an elementwise result', () => lazyI(a.mul(2) as never), forgotten('lazyI: the data')],
  ['cdist, b', () => cdist?.(a, promise), forgotten('cdist: b')],
  ['cdist, b behind data', () => cdist?.([[1, 2]], promise), forgotten('cdist: b')],
  ['cdist, out', () => cdist?.(a, a, { out: promise }), forgotten('cdist: out')],
  [
    'weightedDifferences, a',
    () => weightedDifferences?.(promise, a, a, a),
    forgotten('weightedDifferences: a'),
  ],
  [
    'weightedDifferences, d',
    () => weightedDifferences?.(a, a, a, promise),
    forgotten('weightedDifferences: d'),
  ],
  [
    'runKernel, a',
    () => runKernel?.(kernels.gaussian, promise, a, { bandwidth: 1 }),
    forgotten('runKernel: a'),
  ],
  [
    'runKernel, b',
    () => runKernel?.(kernels.gaussian, a, promise, { bandwidth: 1 }),
    forgotten('runKernel: b'),
  ],
  [
    'runKernel, its descriptor',
    () => runKernel?.(promise, a, a, { bandwidth: 1 }),
    forgotten('runKernel: the descriptor'),
  ],
  [
    'bandwidth',
    () => runKernel?.(kernels.gaussian, a, a, { bandwidth: promise }),
    `runKernel: bandwidth is ${PROMISE}. Pass a positive finite number, or a tensor with one value or one per batch entry.`,
  ],
  ['tensor', () => tensor?.(promise), forgotten('tensor: the data')],
  [
    'tensor, a row',
    () => tensor?.([promise]),
    `tensor: ${PROMISE} is not a number, bigint or boolean. Pass one of these.`,
  ],
  [
    'device',
    () => tensor?.([1], { device: promise }),
    `device: ${PROMISE} is not a device. Use 'cpu', 'cuda', 'cuda:0' or what device() returned.`,
  ],
  ['lazyI', () => lazyI(promise as never), forgotten('lazyI: the data')],
  [
    'an operand',
    () => x()['add']?.(promise),
    `add: operand 1 is ${PROMISE}. Pass a number or a symbolic matrix: lazyI(x) for rows of i, lazyJ(x) for rows of j, param(x) for one vector.`,
  ],
  ['matmul', () => distances()['matmul']?.(promise), forgotten('matmul: v')],
  ['sum, out', () => distances()['sum']?.('j', { out: promise }), forgotten('sum: out')],
  ['sum, ranges', () => distances()['sum']?.('j', { ranges: promise }), forgotten('sum: ranges')],
  [
    'minArgMin, out',
    () => distances()['minArgMin']?.('j', { out: promise }),
    forgotten('minArgMin: out'),
  ],
  [
    'the call of a reduction',
    () => row.reduction.call(promise as never),
    `genred: the arguments are ${PROMISE}. Pass an array with one for each placeholder, as in call([x, y]).`,
  ],
  ['genred', () => rows(a, promise, a), forgotten('genred: y')],
  [
    'elem',
    () => x()['elem']?.(promise),
    new RegExp(
      `^elem: cannot build Elem: the component is ${escaped(PROMISE)} and must be an integer`,
    ),
  ],
  [
    'extract',
    () => x()['extract']?.(promise, 1),
    new RegExp(
      `^extract: cannot build Extract: start is ${escaped(PROMISE)} and must be an integer`,
    ),
  ],
  [
    'argKMin',
    () => distances()['argKMin']?.(promise, 'j'),
    `argKMin: cannot build a ArgKMin reduction: k is ${PROMISE} and must be an integer from 1 to 65536. Pass such an integer.`,
  ],
  [
    'histogram',
    () => distances()['histogram']?.('j', { bins: promise, range: [0, 1] }),
    `histogram: bins is ${PROMISE}. Pass an integer from 1 to 16777216.`,
  ],
  [
    'gradient',
    () => gradient?.(promise, 'x', a),
    `gradient: the reduction is ${PROMISE}. Pass what LazyTensor.reduction or genred(..).reduction gives.`,
  ],
  [
    'valueAndGradients',
    () => mercer.valueAndGradients(promise as never, {}),
    `valueAndGradients: the reduction is ${PROMISE}. Pass what LazyTensor.reduction or genred(..).reduction gives.`,
  ],
  [
    'withGradients',
    () => mercer.withGradients(promise as never, {}),
    `withGradients: the reduction is ${PROMISE}. Pass what LazyTensor.reduction or genred(..).reduction gives.`,
  ],
  ['copyFrom', () => a.copyFrom(Promise.resolve(a) as never), forgotten('copyFrom: the source')],
  ['solveCholesky', () => solveCholesky?.(a, promise), forgotten('solveCholesky: b')],
  ['scatterAdd', () => scatterAdd?.(a, promise, { rows: 2 }), forgotten('scatterAdd: index')],
];

const OTHERS: readonly Case[] = [
  ['p as text', () => cdist?.(a, a, { p: '2' }), /p is the string "2"/],
  ['p as a bigint', () => cdist?.(a, a, { p: 2n }), /p is the bigint 2n/],
  [
    'p of weightedDifferences as text',
    () => weightedDifferences?.(a, a, a, a, { p: '2' }),
    /p is the string "2"/,
  ],
  [
    'a bandwidth as text',
    () => runKernel?.(kernels.gaussian, a, a, { bandwidth: '1' }),
    /the string "1"/,
  ],
  [
    'options in the third place of runKernel, and again behind them',
    () => runKernel?.(kernels.gaussian, a, { bandwidth: 1 }, { bandwidth: 1 }),
    /an object with bandwidth.*runKernel\(descriptor, a, b, options\), or leave b out/,
  ],
  ['options in the second place of cdist', () => cdist?.(a, { p: 1 }), /cdist\(a, b, options\)/],
  ['no arguments of a genred', () => rows(), /no arguments given.*each of the 3/],
  ['two arguments of three', () => rows(a, a), /p .* not bound: 2 of 3 arguments given/],
  ['options too early', () => rows(a, a, cpu), /not bound: 2 of 3 arguments given/],
  ['a tensor among symbolic rows', () => x()['sqdist']?.(a), /a Tensor.*lazyI\(x\).*lazyJ\(x\)/],
  ['k as a bigint', () => distances()['argKMin']?.(1n, 'j'), /k is 1n and must be an integer/],
  ['k as text', () => distances()['argKMin']?.('2', 'j'), /k is "2" and must be an integer/],
  ['an axis with a bigint', () => distances()['sum']?.([1n]), /the axis is \[1n\]/],
  ['the axis of genred', () => genred('x', ['x = Vi(1)'], { axis: [1n] as never }), /is \[1n\]/],
  [
    'a range with a bigint',
    () => distances()['histogram']?.('j', { bins: 2, range: [1n, 2n] }),
    /the range is \[1n, 2n\]/,
  ],
  [
    'an offset with a bigint',
    () =>
      runKernel?.(kernels.gaussian, a, a, {
        bandwidth: 1,
        regularization: 1,
        regularizationOffset: [1n, 2],
      }),
    /regularizationOffset is \[1n, 2\]/,
  ],
];

describe('a mistake of the first day', () => {
  it.each([...FORGOTTEN, ...OTHERS])('is explained: %s', async (_, call, message) => {
    const error = await (async () => call())().then(
      () => undefined,
      (reason: unknown) => reason as Error & { code?: string },
    );
    if (typeof message === 'string') expect(error?.message).toBe(message);
    else expect(error?.message).toMatch(message);
    expect(error?.code).toMatch(/^[A-Z_]+$/);
  });
});
