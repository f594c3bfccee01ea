import { describe, expect, it } from 'vitest';
import {
  cdist,
  concat,
  cumSum,
  device,
  einsum,
  formula,
  lazyI,
  lazyJ,
  map,
  matmul,
  scatterAdd,
  tensor,
  type Pending,
  type Tensor,
} from './index.js';

/*
 * Programs of random calls, most of which nobody awaits, against the same steps in plain loops: each call takes effect where it stands.
 */

const where = { device: 'cpu', dtype: 'float64' } as const;
const SIDE = 3;
const SIZE = SIDE * SIDE;
const INDEX = [2, 0, 2];
const CALLS = 60;
const PROGRAMS = process.env['MERCER_TEST_FULL'] === '1' ? 200 : 20;

type Values = readonly number[];
type Matrix = Tensor<'float64'>;

/** A tensor and what it has to hold at this point of the program. */
interface Held {
  readonly tensor: Matrix;
  values: Values;
}

/** A result that is not launched yet, and what it has to be. */
interface Chain {
  readonly result: Pending<Matrix>;
  readonly values: Values;
}

function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const at = (values: Values, row: number, column: number): number =>
  values[row * SIDE + column] ?? NaN;
const each = (value: (row: number, column: number) => number): Values =>
  Array.from({ length: SIZE }, (_, i) => value(Math.floor(i / SIDE), i % SIDE));
const sum = (term: (k: number) => number): number =>
  Array.from({ length: SIDE }, (_, k) => term(k)).reduce((a, b) => a + b, 0);

const turned = (x: Values): Values => each((i, j) => at(x, j, i));
const distances = (x: Values, y: Values): Values =>
  each((i, j) => Math.sqrt(sum((k) => (at(x, i, k) - at(y, j, k)) ** 2)));
const product = (x: Values, y: Values): Values =>
  each((i, j) => 0.1 * sum((k) => at(x, i, k) * at(y, k, j)));
const kernelSums = (x: Values, y: Values): Values =>
  each((i, j) => sum((k) => Math.exp(-sum((l) => (at(x, i, l) - at(y, k, l)) ** 2)) * at(y, k, j)));
const scattered = (x: Values): Values =>
  each((i, j) => sum((k) => (INDEX[k] === i ? at(x, k, j) : 0)));
function softmax(x: Values): Values {
  return each((i, j) => 1 / sum((k) => Math.exp(at(x, i, k) - at(x, i, j))));
}

const halfAndMore = formula.add(formula.mul(0.5, formula.variable('x')), 0.25);
const halfAndOther = formula.add(
  formula.mul(0.5, formula.variable('x')),
  formula.mul(0.25, formula.variable('y')),
);

async function run(seed: number): Promise<void> {
  const next = numbers(seed);
  const below = (count: number): number => Math.floor(next() * count);
  const cpu = device('cpu');
  const streams = [undefined, cpu.createStream()];
  const made = Array.from({ length: 4 }, () => each(() => next()));
  const all: Held[] = await Promise.all(
    made.map(async (values) => ({
      tensor: await tensor(values, { ...where, shape: [SIDE, SIDE] }),
      values,
    })),
  );
  const index = await tensor(Int32Array.from(INDEX), { device: 'cpu' });
  const [{ tensor: first }] = all as [Held];
  const prepared = await cdist.prepare(first, first);
  const chains: Chain[] = [];
  const waiting: Promise<unknown>[] = [];
  const log: string[] = [];
  const one = (): Held => all[below(all.length)] as Held;
  const others = (held: Held): Held[] => all.filter((other) => other !== held);
  const other = (held: Held): Held => others(held)[below(3)] as Held;
  const stream = (): { readonly stream?: ReturnType<typeof cpu.createStream> } => {
    const chosen = streams[below(3)];
    return chosen === undefined ? {} : { stream: chosen };
  };
  const expected = async (
    what: string,
    read: Promise<ArrayLike<number>>,
    values: Values,
  ): Promise<void> => {
    const steps = log.length;
    const found = await read;
    for (const [place, value] of values.entries()) {
      const off = Math.abs((found[place] ?? NaN) - value);
      if (off <= 1e-9 * (1 + Math.abs(value))) continue;
      throw new Error(
        `seed ${seed}, ${what}: ${Array.from(found).join(' ')} for ${values.join(' ')}\n${log.slice(0, steps).join('\n')}`,
      );
    }
  };
  const calls: Record<string, () => Promise<unknown> | undefined> = {
    fill: () => {
      const to = one();
      const value = next();
      to.values = each(() => value);
      return to.tensor.fill(value, stream());
    },
    'fill of a column': () => {
      const to = one();
      const value = next();
      const { values } = to;
      to.values = each((i, j) => (j === 1 ? value : at(values, i, j)));
      return to.tensor.slice(null, 1).fill(value, stream());
    },
    copyFrom: () => {
      const to = one();
      const from = other(to);
      to.values = from.values;
      return to.tensor.copyFrom(from.tensor, stream());
    },
    'copyFrom a transposed view': () => {
      const to = one();
      const from = other(to);
      to.values = turned(from.values);
      return to.tensor.copyFrom(from.tensor.transpose(), stream());
    },
    'copyFrom a row': () => {
      const to = one();
      const from = other(to);
      const [own, { values }] = [to.values, from];
      to.values = each((i, j) => (i === 0 ? at(values, 2, j) : at(own, i, j)));
      return to.tensor.slice(0).copyFrom(from.tensor.slice(2));
    },
    'a chain': () => {
      const [x, y] = [one(), one()];
      const values = each((i, j) => 0.5 * at(x.values, i, j) - 0.25 * at(y.values, i, j));
      chains.push({ result: x.tensor.mul(0.5).sub(y.tensor.mul(0.25)), values });
      return undefined;
    },
    'a chain of a chain': () => {
      const chain = chains.shift();
      const x = one();
      if (chain === undefined) return undefined;
      const values = each((i, j) => at(chain.values, i, j) + 0.25 * at(x.values, i, j));
      chains.push({ result: chain.result.add(x.tensor.mul(0.25)), values });
      return undefined;
    },
    'a product of a chain': () => {
      const chain = chains.shift();
      const x = one();
      if (chain === undefined) return undefined;
      const result = matmul(chain.result, x.tensor, { alpha: 0.1, ...stream() });
      chains.push({ result, values: product(chain.values, x.values) });
      return undefined;
    },
    'distances to a chain': () => {
      const chain = chains.shift();
      const x = one();
      if (chain === undefined) return undefined;
      const result = cdist(x.tensor, chain.result as never, stream()) as Pending<Matrix>;
      chains.push({ result, values: distances(x.values, chain.values) });
      return undefined;
    },
    'a map of a chain': () => {
      const chain = chains.shift();
      const x = one();
      if (chain === undefined) return undefined;
      const result = map(halfAndOther, { x: chain.result, y: x.tensor }, stream());
      const values = each((i, j) => 0.5 * at(chain.values, i, j) + 0.25 * at(x.values, i, j));
      chains.push({ result: result, values });
      return undefined;
    },
    'copyFrom a chain': () => {
      const chain = chains.shift();
      const to = one();
      if (chain === undefined) return undefined;
      to.values = chain.values;
      return to.tensor.copyFrom(chain.result, stream());
    },
    'copyFrom running sums': () => {
      const to = one();
      const { tensor: x, values } = one();
      to.values = each((i, j) => 0.25 * sum((k) => (k <= j ? at(values, i, k) : 0)));
      return to.tensor.copyFrom(cumSum(x.mul(0.25)), stream());
    },
    'copyFrom rows in another order': () => {
      const to = one();
      const { tensor: x, values } = one();
      to.values = each((i, j) => at(values, (i + 1) % SIDE, j));
      return to.tensor.copyFrom(concat([x.slice([1, SIDE]), x.slice([0, 1])]), stream());
    },
    'copyFrom a product by letters': () => {
      const to = one();
      const [x, y] = [one(), one()];
      to.values = product(x.values, y.values);
      return to.tensor.copyFrom(einsum('ik,kj->ij', [x.tensor, y.tensor]).mul(0.1), stream());
    },
    'copyFrom, used before it is awaited': () => {
      const to = one();
      const x = one();
      const copied = each((i, j) => at(x.values, i, j) * 0.5);
      const result = to.tensor.copyFrom(x.tensor.mul(0.5)).mul(to.tensor);
      to.values = copied;
      chains.push({ result, values: copied.map((value) => value * value) });
      return undefined;
    },
    'a chain into out': () => {
      const to = one();
      const x = other(to);
      to.values = x.values.map((value) => value * 0.5 + 0.125);
      return x.tensor.mul(0.5).add(0.125, { out: to.tensor });
    },
    map: () => {
      const to = one();
      const x = one();
      to.values = x.values.map((value) => 0.5 * value + 0.25);
      return map(halfAndMore, { x: x.tensor }, { out: to.tensor, ...stream() });
    },
    cdist: () => {
      const to = one();
      const [x, y] = [other(to), other(to)];
      to.values = distances(x.values, y.values);
      return cdist(x.tensor, y.tensor, { out: to.tensor, ...stream() });
    },
    'cdist, prepared': () => {
      const to = one();
      const [x, y] = [other(to), other(to)];
      to.values = distances(x.values, y.values);
      prepared(x.tensor, y.tensor, { out: to.tensor, ...stream() });
      return undefined;
    },
    'cdist, prepared, read': () => {
      const [x, y] = [one(), one()];
      const result = prepared(x.tensor, y.tensor, stream());
      const read = result.toTypedArray();
      return expected('a prepared result', read, distances(x.values, y.values));
    },
    matmul: () => {
      const to = one();
      const [x, y] = [other(to), other(to)];
      to.values = product(x.values, y.values);
      return matmul(x.tensor, y.tensor, { alpha: 0.1, out: to.tensor, ...stream() });
    },
    'a lazy sum': () => {
      const to = one();
      const [x, y] = [other(to), other(to)];
      to.values = kernelSums(x.values, y.values);
      const kernel = lazyI(x.tensor).sqdist(lazyJ(y.tensor)).neg().exp();
      return kernel.matmul(y.tensor, { out: to.tensor, ...stream() });
    },
    scatterAdd: () => {
      const to = one();
      const x = other(to);
      to.values = scattered(x.values);
      return scatterAdd(x.tensor, index, SIDE, { out: to.tensor, ...stream() });
    },
    softmax: () => {
      const x = one();
      const result = x.tensor.softmax(-1) as Pending<Matrix>;
      return expected('softmax', result.toTypedArray(), softmax(x.values));
    },
    'a mean over rows': () => {
      const x = one();
      const values = [0, 1, 2].map((j) => sum((i) => at(x.values, i, j)) / SIDE);
      return expected('mean', x.tensor.mean(0).toTypedArray(), values);
    },
    read: () => {
      const x = one();
      return expected('a tensor', x.tensor.toTypedArray(stream()), x.values);
    },
    'read a view': () => {
      const x = one();
      return expected('a view', x.tensor.transpose().toTypedArray(), turned(x.values));
    },
    'read a clone': () => {
      const x = one();
      return expected('a clone', x.tensor.clone(stream()).toTypedArray(), x.values);
    },
    'read a chain': () => {
      const chain = chains[below(Math.max(1, chains.length))];
      if (chain === undefined) return undefined;
      return expected('a chain', chain.result.toTypedArray(), chain.values);
    },
    'a turn': () => new Promise((resolve) => setTimeout(resolve, 0)),
  };
  const names = Object.keys(calls);
  for (let k = 0; k < CALLS; k++) {
    const name = names[below(names.length)] ?? '';
    log.push(name);
    const called = calls[name]?.();
    if (called === undefined) continue;
    called.catch(() => undefined);
    waiting.push(called);
    if (next() < 0.1) await called;
  }
  await Promise.all(waiting);
  for (const { tensor: x, values } of all) await expected('the end', x.toTypedArray(), values);
  for (const { result, values } of chains) {
    await expected('a chain at the end', result.toTypedArray(), values);
  }
}

describe('calls that are not awaited', () => {
  it('take effect in their order', { timeout: 120_000 }, async () => {
    for (let seed = 1; seed <= PROGRAMS; seed++) await expect(run(seed)).resolves.toBeUndefined();
  });
});
