import {
  adam,
  adamW,
  empty,
  lbfgs,
  muon,
  prepare,
  sgd,
  tensor,
  type CommonOptions,
  type Device,
  type Optimiser,
  type OptimiserState,
  type Tensor,
} from '@mercer/core';
import { hashedNumbers } from '../autodiff/hashed-numbers.js';
import { relativeError } from '../autodiff/relative-error.js';
import { timeOfCalls } from '../autodiff/time-of-calls.js';
import { busyWork } from '../busy-work.js';
import type { HostTimes } from '../calls.js';
import { hostTimeUs } from '../host-time.js';
import { asMany } from '../measuring-time.js';
import {
  HISTORY,
  MOMENTUM,
  OPTIM_NAMES,
  OPTIM_SIZES,
  RATE,
  type OptimName,
  type OptimRow,
  type OptimSizes,
} from './optim-row.js';
import { measurePerSample } from './per-sample.js';
import { measureRoots } from './roots.js';
import { measureShampoo } from './shampoo.js';

const STEPS = 10;
const CHECKED_STEPS = 3;
const HOST_ROUNDS = { calls: 4, warmUp: { rounds: 10, ms: 1000 }, rounds: 20 };

type Vectors = 'sgd' | 'adam' | 'adamW';

const MAKE: Readonly<Record<Vectors | 'muon', (options?: CommonOptions) => Optimiser>> = {
  sgd: (options) => sgd({ lr: RATE, momentum: MOMENTUM, ...options }),
  adam: (options) => adam({ lr: RATE, ...options }),
  adamW: (options) => adamW({ lr: RATE, ...options }),
  muon: (options) => muon({ lr: RATE, ...options }),
};

/** What steps are measured as; the last, of which torch does as much, looks at no gradient. */
const WAYS = ['step', 'replayed', 'replayed, gradients not looked at'] as const;
const UNSEEN = WAYS[2];

/** Arrays of the size of all parameters that a step reads and writes, beside the gradients in which NaN is looked for. */
const TRAFFIC: Readonly<Record<Vectors, number>> = { sgd: 5, adam: 7, adamW: 7 };

/** Measures what is named, in the order of {@link OPTIM_NAMES}. */
export async function measureOptim(
  device: Device,
  names: readonly OptimName[],
  onProgress: (name: string) => void,
): Promise<readonly OptimRow[]> {
  const sizes = OPTIM_SIZES[device.kind];
  const rows: OptimRow[] = [];
  for (const name of OPTIM_NAMES.filter((one) => names.includes(one))) {
    onProgress(name);
    if (name === 'lbfgs') rows.push(await measureLbfgs(device, sizes));
    else if (name === 'shampoo') rows.push(...(await measureShampoo(device, sizes)));
    else if (name === 'roots') rows.push(...(await measureRoots(device, sizes)));
    else if (name === 'perSample') rows.push(...(await measurePerSample(device, sizes)));
    else if (name === 'muon') {
      const [count, n] = sizes.matrices;
      rows.push(...(await measureSteps(device, name, count, [n, n])));
    } else {
      const [count, size] = sizes.vectors;
      rows.push(...(await measureSteps(device, name, count, [size])));
    }
  }
  return rows;
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((all, one) => all * one, 1);

const tensorsOf = (
  device: Device,
  count: number,
  shape: readonly number[],
  seed: number,
): Promise<Tensor[]> =>
  Promise.all(
    Array.from({ length: count }, (_, k) =>
      tensor(hashedNumbers(sizeOf(shape), seed + k, [-1, 1]), { shape: [...shape], device }),
    ),
  );

const disposeAll = (all: readonly Tensor[]): void => {
  for (const one of all) one.dispose();
};

async function measureSteps(
  device: Device,
  name: Vectors | 'muon',
  count: number,
  shape: readonly number[],
): Promise<readonly OptimRow[]> {
  const grads = await tensorsOf(device, count, shape, 1000);
  const rows: OptimRow[] = [];
  const n = count * sizeOf(shape);
  for (const way of WAYS) {
    if (name === 'muon' && way === UNSEEN) continue;
    const looks = way === UNSEEN ? 0 : 1;
    const floorUs = name === 'muon' ? undefined : await copyUs(device, (TRAFFIC[name] + looks) * n);
    const params = await tensorsOf(device, count, shape, 1);
    const optimiser = MAKE[name](looks === 0 ? { nonFinite: 'ignore' } : {});
    using state = await optimiser.init(params);
    const plain = async (): Promise<void> => {
      (await optimiser.step(params, grads, state)).skipped.dispose();
    };
    for (let step = 0; step < CHECKED_STEPS; step++) await plain();
    const error = name === 'muon' ? undefined : await errorOf(name, params, shape);
    const call = way === 'step' ? plain : await replayed(optimiser, params, grads, state);
    const us = await timeOfCalls(device, asMany(STEPS), call);
    const host = await hostTimes(device, call);
    rows.push({
      operation: name,
      library: 'mercer',
      way,
      n,
      tensors: count,
      us,
      host,
      ...(error !== undefined && { error }),
      ...(floorUs !== undefined && { floorUs }),
    });
    disposeAll(params);
  }
  disposeAll(grads);
  return rows;
}

/** A step that is captured once; what it is given is no tensor of the step, whose gradients it reads where they are. */
async function replayed(
  optimiser: Optimiser,
  params: readonly Tensor[],
  grads: readonly Tensor[],
  state: OptimiserState,
): Promise<() => Promise<void>> {
  const [{ device }] = params as readonly [Tensor];
  const nothing = await tensor([0], { device });
  const prepared = await prepare(
    async (_: Tensor) => (await optimiser.step(params, grads, state)).skipped,
    nothing,
  );
  return () => {
    prepared(nothing).dispose();
    return Promise.resolve();
  };
}

/** Of the first parameter after {@link CHECKED_STEPS}, from the formulas in float64. */
async function errorOf(
  name: Vectors,
  params: readonly Tensor[],
  shape: readonly number[],
): Promise<number> {
  const size = sizeOf(shape);
  const truth = Float64Array.from(hashedNumbers(size, 1, [-1, 1]));
  const grad = hashedNumbers(size, 1000, [-1, 1]);
  const [m, v] = [new Float64Array(size), new Float64Array(size)];
  for (let t = 1; t <= CHECKED_STEPS; t++) {
    for (let i = 0; i < size; i++) {
      const [p, g] = [truth[i] ?? NaN, grad[i] ?? NaN];
      if (name === 'sgd') {
        m[i] = t === 1 ? g : MOMENTUM * (m[i] ?? 0) + g;
        truth[i] = p - RATE * (m[i] ?? 0);
        continue;
      }
      m[i] = 0.9 * (m[i] ?? 0) + 0.1 * g;
      v[i] = 0.999 * (v[i] ?? 0) + 0.001 * g * g;
      const along = (m[i] ?? 0) / (1 - 0.9 ** t);
      const length = Math.sqrt((v[i] ?? 0) / (1 - 0.999 ** t)) + 1e-8;
      const from = name === 'adamW' ? p * (1 - RATE * 1e-2) : p;
      truth[i] = from - (RATE * along) / length;
    }
  }
  return relativeError(await (params[0] as Tensor).toTypedArray(), truth);
}

/** Microseconds in which a copy moves as many elements of float32. */
async function copyUs(device: Device, elements: number): Promise<number> {
  const half = Math.ceil(elements / 2);
  using from = empty([half], { device });
  using to = empty([half], { device });
  const copied = await timeOfCalls(device, asMany(STEPS), async () => {
    await to.copyFrom(from);
  });
  return copied.p10;
}

/**
 * Arrays of the size of the parameter that a step of lbfgs with so many pairs reads and writes, with its gradient's computation: all pairs but the newest, the last direction, and the gradient
 * before and now, each twice; the new direction and change; the gradient that is kept; the parameter and its gradient, read and written.
 */
const lbfgsTraffic = (history: number): number => 2 * (2 * (history - 1) + 3) + 2 + 1 + 4;

/** An iteration without a line search, of a quadratic whose gradient is the parameter, with a full history. */
async function measureLbfgs(device: Device, { elements }: OptimSizes): Promise<OptimRow> {
  const floorUs = await copyUs(device, lbfgsTraffic(HISTORY) * elements);
  using x = await tensor(hashedNumbers(elements, 1, [-1, 1]), { device });
  using value = await tensor(1, { device });
  const optimiser = lbfgs({ lr: 0.1, maxIterations: 1, history: HISTORY, lineSearch: 'none' });
  using state = await optimiser.init(x);
  const call = async (): Promise<void> => {
    using grad = await x.mul(0.5).add(x.square().mul(0.01));
    (await optimiser.step(x, grad, state, { value })).skipped.dispose();
  };
  for (let step = 0; step <= HISTORY; step++) await call();
  const us = await timeOfCalls(device, asMany(STEPS), call);
  const row = { operation: 'lbfgs', library: 'mercer', way: 'step' } as const;
  return { ...row, n: elements, tensors: 1, us, floorUs };
}

async function hostTimes(device: Device, step: () => Promise<void>): Promise<HostTimes> {
  const idleUs = await hostTimeUs(device, step, HOST_ROUNDS);
  if (device.kind === 'cpu') return { idleUs };
  const before = await busyWork(device);
  return { idleUs, busyUs: await hostTimeUs(device, step, { ...HOST_ROUNDS, before }) };
}
