import type { ReferenceMatrix } from './cdist-reference.test-support.js';
import type { KernelDescriptor } from './descriptor-types.js';

/** Parameters of one batch entry, as numbers. */
export interface ReferenceParameters {
  readonly p?: number | undefined;
  readonly innerP?: number | undefined;
  readonly outerP?: number | undefined;
  readonly bandwidth?: number | undefined;
  readonly alpha?: number | undefined;
  readonly gamma?: number | undefined;
  readonly offset?: number | undefined;
  readonly degree?: number | undefined;
  readonly epsilon?: number | undefined;
  readonly regularization?: number | undefined;
  readonly regularizationOffset?: readonly [number, number] | undefined;
  /** One factor per feature, or one for all. */
  readonly scale?: readonly number[] | undefined;
  /** Function of a custom kernel. */
  readonly custom?: (d: number) => number;
}

/** Values in float64 and how far a result in the data type may be from each. */
export interface ReferenceResult {
  readonly values: Float64Array;
  readonly limits: Float64Array;
}

/** What the published bounds are counted in. */
export interface Precision {
  /** Half the distance from 1 to the next number. */
  readonly unit: number;
  /** Results below the normal range may be 0. */
  readonly tiny: number;
}

/** A value and the largest error that its computation may have made so far. */
interface Estimate {
  readonly value: number;
  readonly error: number;
}

/**
 * A kernel matrix in float64 straight from the definitions, written without any of the code under test. The limits follow
 * the published bounds: of the terms (3 u, or (6 + 1.5 p |log2 |x||) u for a power), of their sum ((2 sqrt K + 4) u of the sum
 * of their sizes), and of each function after it; an error made before a function is carried through it.
 */
export function referenceKernel(
  descriptor: KernelDescriptor,
  a: ReferenceMatrix,
  b: ReferenceMatrix,
  parameters: ReferenceParameters,
  precision: Precision,
): ReferenceResult {
  const values = new Float64Array(a.rows * b.rows);
  const limits = new Float64Array(values.length);
  const { regularization = 0, regularizationOffset: [x, y] = [0, 0] } = parameters;
  for (let m = 0; m < a.rows; m++) {
    for (let n = 0; n < b.rows; n++) {
      let result = pair(descriptor, rowOf(a, m), rowOf(b, n), parameters, precision);
      if (regularization !== 0 && m + x === n + y) {
        const value = isOneAtZero(descriptor, parameters)
          ? 1 + regularization
          : result.value + regularization;
        const carried = isOneAtZero(descriptor, parameters) ? 0 : result.error;
        result = { value, error: carried + 2 * precision.unit * Math.abs(value) };
      }
      values[m * b.rows + n] = result.value;
      limits[m * b.rows + n] = result.error + precision.tiny;
    }
  }
  return { values, limits };
}

function rowOf({ columns, values }: ReferenceMatrix, row: number): Float64Array {
  return values.subarray(row * columns, (row + 1) * columns);
}

function pair(
  descriptor: KernelDescriptor,
  x: Float64Array,
  y: Float64Array,
  parameters: ReferenceParameters,
  precision: Precision,
): Estimate {
  const { kernel } = descriptor;
  const s =
    kernel === 'cosine'
      ? cosineOf(x, y, precision)
      : sumOf(descriptor, x, y, parameters, precision);
  const d = outerOf(descriptor, s, parameters, precision);
  const { epsilon = defaultEpsilon(descriptor) } = parameters;
  const clamped = epsilon !== 0 && descriptor.innerOperator === 'diff' && d.value < epsilon;
  return kernelOf(descriptor, clamped ? { value: 0, error: 0 } : d, parameters, precision);
}

function defaultEpsilon({ innerOperator, kernel }: KernelDescriptor): number {
  return innerOperator === 'diff' && (kernel === 'laplace' || kernel === 'gaussian') ? 1e-5 : 0;
}

function sumOf(
  { innerOperator, innerPower }: KernelDescriptor,
  x: Float64Array,
  y: Float64Array,
  { p, innerP = p, scale = [1] }: ReferenceParameters,
  { unit }: Precision,
): Estimate {
  const exponent = innerP ?? NaN;
  let [value, sizes, errors, largest] = [0, 0, 0, 0];
  for (const [k, first] of x.entries()) {
    const factor = scale[k] ?? scale[0] ?? 1;
    const [u, v] = [first * factor, (y[k] ?? NaN) * factor];
    const z = innerOperator === 'diff' ? v - u : u * v;
    const g = (t: number): number => inner(innerPower, t, exponent);
    const term = g(z);
    // A factor rounds both operands before they are subtracted.
    const shift = factor === 1 ? 0 : unit * (Math.abs(u) + Math.abs(v));
    const power = innerPower === 'pow' && Number.isFinite(exponent);
    const log = z === 0 ? 0 : Math.abs(Math.log2(Math.abs(z)));
    const own = power ? 6 + 1.5 * exponent * log : 3;
    errors += Math.abs(term) * own * unit + deviation(g, z, shift);
    sizes += Math.abs(term);
    value += term;
    largest = Number.isNaN(term) || Number.isNaN(largest) ? NaN : Math.max(largest, term);
  }
  if (exponent === Infinity) return { value: largest, error: unit * largest };
  return { value, error: errors + (2 * Math.sqrt(x.length) + 4) * unit * sizes };
}

function inner(power: KernelDescriptor['innerPower'], x: number, exponent: number): number {
  if (power === 'none') return x;
  if (power === 'abs') return Math.abs(x);
  if (power === 'square') return x * x;
  if (power === 'sqrt') return Math.sqrt(x);
  return exponent === Infinity ? Math.abs(x) : Math.abs(x) ** exponent;
}

/** The rows are divided by their norms, each within (sqrt K + 8) u, before they are multiplied. */
function cosineOf(x: Float64Array, y: Float64Array, { unit }: Precision): Estimate {
  const norm = (row: Float64Array): number => Math.sqrt(row.reduce((sum, v) => sum + v * v, 0));
  const divisor = norm(x) * norm(y);
  if (divisor === 0) return { value: 0, error: 0 };
  let [value, sizes] = [0, 0];
  for (const [k, first] of x.entries()) {
    const term = (first / divisor) * (y[k] ?? NaN);
    value += term;
    sizes += Math.abs(term);
  }
  const root = Math.sqrt(x.length);
  return { value, error: (2 * (root + 8) + 2 * root + 5) * unit * sizes };
}

function outerOf(
  { outerPower }: KernelDescriptor,
  { value: s, error }: Estimate,
  { p, outerP }: ReferenceParameters,
  { unit }: Precision,
): Estimate {
  if (outerPower === 'none') return { value: s, error };
  const exponent = outerP ?? (p === Infinity ? 1 : 1 / (p ?? NaN));
  const f = (t: number): number => {
    if (outerPower === 'abs') return Math.abs(t);
    if (outerPower === 'square') return t * t;
    return outerPower === 'sqrt' ? Math.sqrt(t) : t ** exponent;
  };
  const log = s === 0 ? 0 : Math.abs(Math.log2(Math.abs(s)));
  const own = outerPower === 'pow' ? 6 + 1.5 * exponent * log : 3;
  return { value: f(s), error: deviation(f, s, error) + own * unit * Math.abs(f(s)) };
}

/** Each kernel, and the units that its own operations may err by. */
function kernelOf(
  descriptor: KernelDescriptor,
  { value: d, error }: Estimate,
  parameters: ReferenceParameters,
  { unit }: Precision,
): Estimate {
  const f = kernelFunction(descriptor, parameters);
  const { bandwidth: h = NaN, alpha = NaN, gamma = NaN, offset = NaN, degree = NaN } = parameters;
  const value = f(d);
  if (!Number.isFinite(d)) return { value, error: 0 };
  const size = Math.abs(value);
  switch (descriptor.kernel) {
    case 'none':
    case 'cosine':
      return { value, error };
    case 'polynomial':
    case 'sigmoid': {
      const base = gamma * d + offset;
      const before = Math.abs(gamma) * error + 3 * unit * (Math.abs(gamma * d) + Math.abs(offset));
      const g = descriptor.kernel === 'sigmoid' ? Math.tanh : (t: number): number => t ** degree;
      const log = base === 0 ? 0 : Math.abs(Math.log2(Math.abs(base)));
      const own = descriptor.kernel === 'sigmoid' ? 6 : 6 + 1.5 * degree * log;
      return { value, error: deviation(g, base, before) + own * unit * size };
    }
    case 'rationalQuadratic': {
      const log = Math.log2(1 + d / (2 * alpha * h * h));
      const own = 6 + 1.5 * alpha * log + 2 * alpha;
      return { value, error: deviation(f, d, error + 5 * unit * d) + own * unit * size };
    }
    case 'cauchy':
    case 'inverseMultiquadric':
      return { value, error: deviation(f, d, error + 5 * unit * d) + 6 * unit * size };
    default: {
      // exp(-x) and a polynomial in x before it.
      const x = value > 0 && value < 1 ? -Math.log(value) : 0;
      const own = 12 + 2 * x;
      return { value, error: deviation(f, d, error + 5 * unit * Math.abs(d)) + own * unit * size };
    }
  }
}

function kernelFunction(
  { kernel }: KernelDescriptor,
  {
    bandwidth: h = NaN,
    alpha = NaN,
    gamma = NaN,
    offset = NaN,
    degree = NaN,
    custom,
  }: ReferenceParameters,
): (d: number) => number {
  const matern = (d: number, twice: number, polynomial: (x: number) => number): number => {
    const x = Math.sqrt(twice * d) / h;
    return x > 1000 ? 0 : polynomial(x) * Math.exp(-x);
  };
  switch (kernel) {
    case 'none':
    case 'cosine':
      return (d) => d;
    case 'laplace':
      return (d) => Math.exp(-d / h);
    case 'gaussian':
      return (d) => Math.exp(-d / (2 * h * h));
    case 'matern12':
      return (d) => matern(d, 1, () => 1);
    case 'matern32':
      return (d) => matern(d, 3, (x) => 1 + x);
    case 'matern52':
      return (d) => matern(d, 5, (x) => 1 + x + (x * x) / 3);
    case 'cauchy':
      return (d) => 1 / (1 + d / h ** 2);
    case 'inverseMultiquadric':
      return (d) => 1 / Math.sqrt(1 + d / h ** 2);
    case 'rationalQuadratic':
      return (d) => (1 + d / (2 * alpha * h ** 2)) ** -alpha;
    case 'polynomial':
      return (d) => (gamma * d + offset) ** degree;
    case 'sigmoid':
      return (d) => Math.tanh(gamma * d + offset);
    default:
      return custom ?? ((): number => NaN);
  }
}

function isOneAtZero(descriptor: KernelDescriptor, parameters: ReferenceParameters): boolean {
  return descriptor.innerOperator === 'diff' && kernelFunction(descriptor, parameters)(0) === 1;
}

/** How far f moves when its argument moves by `by`. */
function deviation(f: (x: number) => number, at: number, by: number): number {
  if (by === 0 || !Number.isFinite(at)) return 0;
  const here = f(at);
  const moves = [f(at + by), f(at - by)].map((there) => Math.abs(there - here));
  return Math.max(...moves.filter((move) => !Number.isNaN(move)), 0);
}
