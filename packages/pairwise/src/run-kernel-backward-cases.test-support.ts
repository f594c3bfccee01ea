import { add, div, exp, log, mul, neg, variable } from '@mercer/formula';
import * as pairwise from './index.js';
import type { AnyRunKernelOptions, KernelDescriptor } from './index.js';

const { customKernel, kernelDescriptor } = pairwise;

/** Values of parameters by name. */
export type Numbers = Readonly<Record<string, number>>;
/** A kernel of two rows in float64, written without any of the code under test. */
export type Reference = (x: readonly number[], y: readonly number[], q: Numbers) => number;

/** The sum of all values. */
export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
const squared = (x: readonly number[], y: readonly number[]): number =>
  sum(x.map((value, i) => (value - (y[i] ?? NaN)) ** 2));
/** The inner product of two rows. */
export const product = (x: readonly number[], y: readonly number[]): number =>
  sum(x.map((value, i) => value * (y[i] ?? NaN)));
const powers = (x: readonly number[], y: readonly number[], p: number): number =>
  sum(x.map((value, i) => Math.abs(value - (y[i] ?? NaN)) ** p));
/** A value that must be there. */
export const of = (q: Numbers, name: string): number => q[name] ?? NaN;

/** A descriptor, the values of its parameters, and what it computes. */
export interface Case {
  readonly name: string;
  readonly descriptor: KernelDescriptor;
  readonly parameters: Numbers;
  /** Options that are not differentiated by. */
  readonly fixed?: AnyRunKernelOptions;
  readonly reference: Reference;
  /** Also in float32. */
  readonly float32?: boolean;
}

const [d, c, e] = [variable('d'), variable('c'), variable('e')];
const CUSTOM = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'square',
  outerPower: 'none',
  kernel: customKernel(mul(exp(neg(mul(d, div(1, c)))), log(add(e, d))), {
    parameters: ['c', 'e'],
  }),
});
const POWERS_APART = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'pow',
  outerPower: 'pow',
  kernel: 'laplace',
});

const SIGNED = kernelDescriptor({
  innerOperator: 'diff',
  innerPower: 'none',
  outerPower: 'none',
  kernel: customKernel(exp(neg(mul(c, mul(d, d)))), { parameters: ['c'] }),
});

/** Every named kernel, a custom one, and exponents apart. */
export const CASES: readonly Case[] = [
  {
    name: 'manhattan',
    descriptor: pairwise.kernels.manhattan,
    parameters: {},
    reference: (x, y) => powers(x, y, 1),
  },
  {
    name: 'euclidean',
    descriptor: pairwise.kernels.euclidean,
    parameters: {},
    reference: (x, y) => Math.sqrt(squared(x, y)),
  },
  {
    float32: true,
    name: 'minkowski',
    descriptor: pairwise.kernels.minkowski,
    parameters: { p: 2.7 },
    reference: (x, y, q) => powers(x, y, of(q, 'p')) ** (1 / of(q, 'p')),
  },
  {
    name: 'laplace',
    descriptor: pairwise.kernels.laplace,
    parameters: { bandwidth: 3 },
    reference: (x, y, q) => Math.exp(-powers(x, y, 1) / of(q, 'bandwidth')),
  },
  {
    float32: true,
    name: 'exponential',
    descriptor: pairwise.kernels.exponential,
    parameters: { bandwidth: 3 },
    reference: (x, y, q) => Math.exp(-Math.sqrt(squared(x, y)) / of(q, 'bandwidth')),
  },
  {
    name: 'laplace, powers apart',
    descriptor: POWERS_APART,
    parameters: { bandwidth: 3, innerP: 1.7, outerP: 0.6 },
    reference: (x, y, q) =>
      Math.exp(-(powers(x, y, of(q, 'innerP')) ** of(q, 'outerP')) / of(q, 'bandwidth')),
  },
  {
    name: 'laplace of a norm',
    descriptor: POWERS_APART,
    parameters: { bandwidth: 3, p: 1.5 },
    reference: (x, y, q) =>
      Math.exp(-(powers(x, y, of(q, 'p')) ** (1 / of(q, 'p'))) / of(q, 'bandwidth')),
  },
  {
    name: 'gaussian',
    descriptor: pairwise.kernels.gaussian,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => Math.exp(-squared(x, y) / (2 * of(q, 'bandwidth') ** 2)),
  },
  {
    name: 'matern12',
    descriptor: pairwise.kernels.matern12,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => Math.exp(-Math.sqrt(squared(x, y)) / of(q, 'bandwidth')),
  },
  {
    name: 'matern32',
    descriptor: pairwise.kernels.matern32,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => {
      const r = Math.sqrt(3 * squared(x, y)) / of(q, 'bandwidth');
      return (1 + r) * Math.exp(-r);
    },
  },
  {
    float32: true,
    name: 'matern52',
    descriptor: pairwise.kernels.matern52,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => {
      const r = Math.sqrt(5 * squared(x, y)) / of(q, 'bandwidth');
      return (1 + r + (r * r) / 3) * Math.exp(-r);
    },
  },
  {
    name: 'cauchy',
    descriptor: pairwise.kernels.cauchy,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => 1 / (1 + squared(x, y) / of(q, 'bandwidth') ** 2),
  },
  {
    float32: true,
    name: 'rationalQuadratic',
    descriptor: pairwise.kernels.rationalQuadratic,
    parameters: { bandwidth: 2, alpha: 1.5 },
    reference: (x, y, q) =>
      (1 + squared(x, y) / (2 * of(q, 'alpha') * of(q, 'bandwidth') ** 2)) ** -of(q, 'alpha'),
  },
  {
    name: 'inverseMultiquadric',
    descriptor: pairwise.kernels.inverseMultiquadric,
    parameters: { bandwidth: 2 },
    reference: (x, y, q) => (1 + squared(x, y) / of(q, 'bandwidth') ** 2) ** -0.5,
  },
  {
    name: 'dot',
    descriptor: pairwise.kernels.dot,
    parameters: {},
    reference: product,
  },
  {
    float32: true,
    name: 'cosine',
    descriptor: pairwise.kernels.cosine,
    parameters: {},
    reference: (x, y) => product(x, y) / Math.sqrt(product(x, x) * product(y, y)),
  },
  {
    float32: true,
    name: 'polynomial',
    descriptor: pairwise.kernels.polynomial,
    fixed: { degree: 3 },
    parameters: { gamma: 0.3, offset: 0.7 },
    reference: (x, y, q) => (of(q, 'gamma') * product(x, y) + of(q, 'offset')) ** 3,
  },
  {
    name: 'sigmoid',
    descriptor: pairwise.kernels.sigmoid,
    parameters: { gamma: 0.2, offset: 0.1 },
    reference: (x, y, q) => Math.tanh(of(q, 'gamma') * product(x, y) + of(q, 'offset')),
  },
  {
    name: 'a custom kernel of signed sums',
    descriptor: SIGNED,
    parameters: { c: 0.1 },
    reference: (x, y, q) => Math.exp(-of(q, 'c') * (sum(y) - sum(x)) ** 2),
  },
  {
    float32: true,
    name: 'a custom kernel',
    descriptor: CUSTOM,
    parameters: { c: 5, e: 1.2 },
    reference: (x, y, q) =>
      Math.exp(-squared(x, y) / of(q, 'c')) * Math.log(of(q, 'e') + squared(x, y)),
  },
];
