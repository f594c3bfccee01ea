import { beforeAll, describe, expect, it } from 'vitest';
import * as mercer from './index.js';

type Loose = (...args: readonly unknown[]) => unknown;
const { cdist, gradient, runKernel, tensor, weightedDifferences } = mercer as unknown as Record<
  string,
  Loose
>;
const { genred, kernels, lazyI, lazyJ } = mercer;
const cpu = { device: 'cpu' } as const;

let a: mercer.Tensor<'float32'>;
/** A tensor that was not awaited. */
let promise: Promise<mercer.Tensor>;
beforeAll(async () => {
  a = await mercer.tensor([[1, 2]], cpu);
  promise = mercer.tensor([[1]], cpu);
  await promise;
});

const row = genred('SqDist(x, y) + p', ['x = Vi(2)', 'y = Vj(2)', 'p = Pm(1)']);
const rows = row as unknown as Loose;
const x = (): Record<string, Loose> => lazyI(a) as never;
const distances = (): Record<string, Loose> => lazyI(a).sqdist(lazyJ(a)) as never;

type Case = readonly [what: string, call: () => unknown, message: RegExp];

const AWAIT = /a Promise \(did you forget await\?\)/;
const FORGOTTEN: readonly Case[] = [
  ['cdist, a', () => cdist?.(promise, a), AWAIT],
  ['cdist, b', () => cdist?.(a, promise), AWAIT],
  ['cdist, out', () => cdist?.(a, a, { out: promise }), AWAIT],
  ['weightedDifferences', () => weightedDifferences?.(promise, a, a, a), AWAIT],
  ['runKernel', () => runKernel?.(kernels.gaussian, promise, a, { bandwidth: 1 }), AWAIT],
  ['bandwidth', () => runKernel?.(kernels.gaussian, a, a, { bandwidth: promise }), AWAIT],
  ['tensor', () => tensor?.(promise), AWAIT],
  ['device', () => tensor?.([1], { device: promise }), AWAIT],
  ['lazyI', () => lazyI(promise as never), AWAIT],
  ['an operand', () => x()['add']?.(promise), AWAIT],
  ['matmul', () => distances()['matmul']?.(promise), AWAIT],
  ['genred', () => rows(a, promise, a), AWAIT],
  ['gradient', () => gradient?.(promise, 'x', a), AWAIT],
  ['valueAndGradients', () => mercer.valueAndGradients(promise as never, {}), AWAIT],
  ['withGradients', () => mercer.withGradients(promise as never, {}), AWAIT],
  ['copyFrom', () => a.copyFrom(Promise.resolve(a) as never), AWAIT],
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
    expect(error?.message).toMatch(message);
    expect(error?.code).toMatch(/^[A-Z_]+$/);
  });
});
