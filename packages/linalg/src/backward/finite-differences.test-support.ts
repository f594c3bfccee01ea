import { tensor, type Device, type Tensor } from '@mercer/tensor';
import { expect } from 'vitest';
import type { LinalgDType } from '../checks.js';
import { random, type Dense } from '../matrices.test-support.js';

/** Numbers of the host, row-major. */
export interface Host {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export type Hosts = Readonly<Record<string, Host>>;
export type Tensors = Readonly<Record<string, Tensor<LinalgDType>>>;

/** A backward rule beside its forward call. */
export interface RuleCase {
  readonly inputs: Hosts;
  /** Axes of an input, and of a result, behind the batch; 2 where nothing is said. */
  readonly cores?: Readonly<Record<string, number>>;
  /** The results that get a gradient, by name. */
  readonly forward: (inputs: Tensors) => Promise<Tensors>;
  readonly backward: (gradients: Tensors, inputs: Tensors, results: Tensors) => Promise<Tensors>;
  /** The triangle of input a that the call reads; the other one is NaN, and the gradient of a is symmetric. */
  readonly triangle?: 'lower' | 'upper';
  /** Brings the results of one slightly changed call to the signs of the unchanged one. */
  readonly align?: (results: Hosts, unchanged: Hosts) => Hosts;
  /** Of the largest element; default 1e-6. */
  readonly tolerance?: number;
  /** The same in float32, beside the gradient in float64; default 1e-3. */
  readonly tolerance32?: number;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

export function randomHost(shape: readonly number[], seed: number): Host {
  const next = random(seed);
  return { shape, data: Float64Array.from({ length: sizeOf(shape) }, next) };
}

/** Matrices as one host array; their number must be that of the batch. */
export function stack(batch: readonly number[], matrices: readonly Dense[]): Host {
  const [first] = matrices;
  if (first?.data === undefined || matrices.length !== sizeOf(batch)) {
    throw new TypeError('matrices and batch do not fit');
  }
  const data = new Float64Array(matrices.length * first.data.length);
  matrices.forEach((matrix, i) => data.set(matrix.data, i * first.data.length));
  return { shape: [...batch, first.rows, first.columns], data };
}

/** NaN in the triangle that must not be read. */
export function halved({ shape, data }: Host, uplo: 'lower' | 'upper'): Host {
  const n = shape.at(-1) ?? 1;
  return {
    shape,
    data: data.map((x, at) => (isRead(Math.floor(at / n) % n, at % n, uplo) ? x : NaN)),
  };
}

const isRead = (i: number, j: number, uplo: 'lower' | 'upper'): boolean =>
  uplo === 'lower' ? i >= j : i <= j;

export async function toDevice<D extends LinalgDType>(
  { shape, data }: Host,
  dtype: D,
  device: Device,
): Promise<Tensor<D>> {
  return tensor(data, { shape, dtype, device });
}

export async function toHost(x: Tensor): Promise<Host> {
  return { shape: x.shape, data: Float64Array.from((await x.toTypedArray()) as Float32Array) };
}

async function mapTensors<T, R>(
  record: Readonly<Record<string, T>>,
  change: (value: T, name: string) => Promise<R>,
): Promise<Record<string, R>> {
  const entries = Object.entries(record).map(
    async ([name, value]) => [name, await change(value, name)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

/** Gradients by the rule, of the loss that weighs each element of the results with a random number. */
async function gradientsByRule(
  rule: RuleCase,
  weights: Hosts,
  dtype: LinalgDType,
  device: Device,
): Promise<{ readonly gradients: Hosts; readonly results: Hosts }> {
  const inputs = await mapTensors(rule.inputs, (host) => toDevice(host, dtype, device));
  const results = await rule.forward(inputs);
  const upstream = await mapTensors(weights, (host) => toDevice(host, dtype, device));
  const gradients = await rule.backward(upstream, inputs, results);
  for (const [name, gradient] of Object.entries(gradients)) {
    expect([name, gradient.shape, gradient.dtype]).toEqual([name, rule.inputs[name]?.shape, dtype]);
  }
  return {
    gradients: await mapTensors(gradients, toHost),
    results: await mapTensors(results, toHost),
  };
}

const STEP = 1e-5;

/** The derivative of the loss by each element of one input: all changes are one batch of the forward call. */
async function gradientByDifferences(
  rule: RuleCase,
  name: string,
  weights: Hosts,
  unchanged: Hosts,
  device: Device,
): Promise<Float64Array> {
  const { inputs, cores = {}, align = (results: Hosts) => results } = rule;
  const own = inputs[name];
  if (own === undefined) throw new TypeError(`no input ${name}`);
  const batchRank = (key: string, { shape }: Host): number => shape.length - (cores[key] ?? 2);
  const mostBatch = Math.max(...Object.entries(inputs).map(([key, host]) => batchRank(key, host)));
  const size = own.data.length;
  const data = new Float64Array(2 * size * size);
  for (let change = 0; change < 2 * size; change++) {
    data.set(own.data, change * size);
    const element = change >> 1;
    data[change * size + element] = (own.data[element] ?? NaN) + (change % 2 === 0 ? STEP : -STEP);
  }
  const ones = new Array<number>(mostBatch - batchRank(name, own)).fill(1);
  const changed: Host = { shape: [2 * size, ...ones, ...own.shape], data };
  const tensors = await mapTensors({ ...inputs, [name]: changed }, (host) =>
    toDevice(host, 'float64', device),
  );
  const results = await mapTensors(await rule.forward(tensors), toHost);
  const lossOf = (change: number): number => {
    const parts = Object.fromEntries(
      Object.entries(results).map(([key, { shape, data: all }]) => {
        const length = all.length / (2 * size);
        const part = all.slice(change * length, (change + 1) * length);
        return [key, { shape: shape.slice(1), data: part }] as const;
      }),
    );
    const aligned = align(parts, unchanged);
    return Object.entries(weights).reduce(
      (sum, [key, weight]) =>
        weight.data.reduce((s, w, i) => s + w * (aligned[key]?.data[i] ?? NaN), sum),
      0,
    );
  };
  return Float64Array.from(
    { length: size },
    (_, element) => (lossOf(2 * element) - lossOf(2 * element + 1)) / (2 * STEP),
  );
}

/** What a symmetric gradient says of the elements of one triangle as independent numbers. */
function ofTriangle({ shape, data }: Host, uplo: 'lower' | 'upper'): Float64Array {
  const n = shape.at(-1) ?? 1;
  return data.map((x, at) => {
    const [i, j] = [Math.floor(at / n) % n, at % n];
    if (!isRead(i, j, uplo)) return 0;
    return i === j ? x : x + (data[at - i * n - j + j * n + i] ?? NaN);
  });
}

function expectSymmetric({ shape, data }: Host): void {
  const n = shape.at(-1) ?? 1;
  data.forEach((x, at) => {
    const [i, j] = [Math.floor(at / n) % n, at % n];
    expect(data[at - i * n - j + j * n + i]).toBe(x);
  });
}

export function expectClose(
  found: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: number,
): void {
  expect(found.length).toBe(expected.length);
  const largest = Array.from(expected, Math.abs).reduce((a, b) => Math.max(a, b), 0);
  const worst = Array.from(expected).reduce(
    // not Math.max: NaN must show
    (most, x, i) => {
      const error = Math.abs((found[i] ?? NaN) - x);
      return error <= most ? most : error;
    },
    0,
  );
  expect(worst).toBeLessThanOrEqual(tolerance * Math.max(largest, 1e-3));
}

/** Holds a rule against central differences in float64, and its float32 against its float64. */
export async function checkRule(rule: RuleCase, device: Device, seed = 1): Promise<void> {
  const given = await mapTensors(rule.inputs, (host) => toDevice(host, 'float64', device));
  const shapes = await rule.forward(given);
  const weights = Object.fromEntries(
    Object.entries(shapes).map(([name, { shape }], i) => [name, randomHost(shape, seed * 100 + i)]),
  );
  const { gradients, results } = await gradientsByRule(rule, weights, 'float64', device);
  const names = Object.keys(gradients);
  expect(names.sort()).toEqual(Object.keys(rule.inputs).sort());
  for (const name of names) {
    const own = gradients[name] as Host;
    const byDifferences = await gradientByDifferences(rule, name, weights, results, device);
    const read = name === 'a' ? rule.triangle : undefined;
    if (read !== undefined) expectSymmetric(own);
    const found = read === undefined ? own.data : ofTriangle(own, read);
    // what is not read is NaN in the input, and its difference is 0
    expectClose(found, byDifferences, rule.tolerance ?? 1e-6);
  }
  const narrow = await gradientsByRule(rule, weights, 'float32', device);
  for (const name of names) {
    const [found, expected] = [narrow.gradients[name], gradients[name]] as [Host, Host];
    expectClose(found.data, expected.data, rule.tolerance32 ?? 1e-3);
  }
}
