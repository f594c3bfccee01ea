import { readFileSync } from 'node:fs';
import { device } from '@mercer/tensor';
import { afterEach, expect, it } from 'vitest';
import { genericSum, gradient, lazyI, lazyJ, valueAndGradients, type LazyTensor } from './index.js';

/** What a slice of planning may take, beside {@link collectionMs}. */
const SLICE_MS = 20;
/** The best of these runs counts: one alone may meet a long collection of garbage, and engines compile code while the first ones run. */
const RUNS = 12;

const executor = process.env['MERCER_CPU'];
afterEach(() => {
  if (executor === undefined) delete process.env['MERCER_CPU'];
  else process.env['MERCER_CPU'] = executor;
});

const options = { device: device('cpu'), dtype: 'float64' } as const;
const column = (values: readonly number[]): number[][] => values.map((value) => [value]);
const x = (): LazyTensor => lazyI(column([0.25, 0.5, -1]));
const y = (): LazyTensor => lazyJ(column([1, -0.5, 0.75, 2]));
const rows = (count: number, dim: number): number[][] =>
  Array.from({ length: count }, (_, row) =>
    Array.from({ length: dim }, (__, k) => Math.sin(row + k / 7)),
  );

/**
 * The sum of sines of a difference, with numbers of this run's own, so that nothing is remembered: there are more numbers, and in the chains more nodes,
 * than where numbers that change share a kernel.
 */
function sines(count: number, own: number): LazyTensor {
  const d = x().sub(y());
  let all = d.sin();
  for (let k = 1; k < count; k++) all = all.add(d.mul(k / 1000 + own).sin());
  return all;
}

/** `f = sin(f) + d` over and over. */
function chain(of: LazyTensor, steps: number, own: number): LazyTensor {
  let all = of.mul(1 + own);
  for (let k = 0; k < steps; k++) all = all.sin().add(of);
  return all;
}

/** A formula, and then a call that plans it. */
const CASES: readonly [string, (own: number) => () => Promise<unknown>][] = [
  [
    'a sum of 2000 sines',
    (own) => {
      const formula = sines(2000, own);
      return () => formula.sum('j', options);
    },
  ],
  [
    'a chain of 10,000 nodes',
    (own) => {
      const formula = chain(x().sub(y()), 5000, own);
      return () => formula.sum('j', options);
    },
  ],
  [
    'a long formula of vectors',
    (own) => {
      const formula = chain(lazyI(rows(3, 16)).sub(lazyJ(rows(4, 16))), 1100, own);
      return () => formula.sum('j', options);
    },
  ],
  [
    'soft dynamic time warping of series of 24',
    (own) => {
      const warped = genericSum(`SoftDTW_SqDist(x, y, ${1 + own})`, 'out = Vi(1)', [
        'x = Vi(0, 24)',
        'y = Vj(1, 24)',
      ]);
      return () => warped(rows(2, 24), rows(3, 24), options);
    },
  ],
  [
    'the gradient of a chain of 4000 nodes',
    (own) => {
      const by = x();
      const reduction = chain(by.sub(y()), 2000, own).reduction('Sum', 'j');
      return () => gradient(reduction, by, [[1], [1], [1]]);
    },
  ],
  [
    'the value and two gradients of a chain of 2200 nodes',
    (own) => {
      const [a, b] = [x(), y()];
      const reduction = chain(a.sub(b), 1100, own).reduction('LogSumExp', 'j');
      return () => valueAndGradients(reduction, { a, b });
    },
  ],
];

/** Milliseconds that this thread has computed, whatever else the machine did. */
const threadMs = (): number =>
  Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6;

/** What a collection of garbage within a slice takes of this machine's kernel: 4 MiB of new pages. The clock of a thread ticks every few milliseconds. */
function collectionMs(): number {
  const times = 16;
  const began = threadMs();
  for (let time = 0; time < times; time++) new Uint8Array(4 << 20).fill(1);
  return (threadMs() - began) / times;
}

/** The longest turn of the event loop while something is awaited. */
async function longestTurn(run: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = threadMs();
  let turn = setImmediate(function next() {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    last = now;
    turn = setImmediate(next);
  });
  await run();
  clearImmediate(turn);
  return longest;
}

it.each(
  CASES.flatMap(([name, make]) =>
    (['interpreted', 'compiled'] as const).map((how) => [name, how, make] as const),
  ),
)(
  '%s, %s: the event loop turns meanwhile',
  async (_, how, make) => {
    process.env['MERCER_CPU'] = how;
    // What is loaded once is no planning.
    await lazyI([[1]])
      .sub(lazyJ([[2]]))
      .sum('j', options);
    const most = SLICE_MS + collectionMs();
    const turns: number[] = [];
    while (turns.length < RUNS && Math.min(...turns) >= most) {
      const call = make(Math.random() / 1000);
      await new Promise((resolve) => setTimeout(resolve, 20));
      turns.push(await longestTurn(call));
    }
    expect(Math.min(...turns), turns.map((ms) => ms.toFixed(1)).join(' ')).toBeLessThan(most);
  },
  120_000,
);
