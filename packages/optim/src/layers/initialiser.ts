import { describeValue } from '@mercer/options';
import { MercerError, random, type Pending, type Tensor } from '@mercer/tensor';
import { givesPending, sizeOfShape } from '@mercer/tensor/operation';
import { readPlacement, type Placement } from './layer.js';

/**
 * Makes a parameter of a shape. Of weights (outputs, inputs, ..kernel) the fan-in is inputs times the size of the kernel, the fan-out outputs times that;
 * of a vector both are its length.
 */
export type Initialiser = (
  key: random.RandomKey,
  shape: readonly number[],
  placement?: Placement,
) => Promise<Tensor>;

/** One of this package. */
export type OwnInitialiser = (...given: Parameters<Initialiser>) => Pending<Tensor>;

/** Numbers by which layers' outputs keep their variance. */
interface Fans {
  readonly fanIn: number;
  readonly fanOut: number;
}

export function fansOf(shape: readonly number[]): Fans {
  const [outputs = 1, inputs = outputs, ...kernel] = shape;
  const size = sizeOfShape(kernel);
  return { fanIn: Math.max(1, inputs * size), fanOut: Math.max(1, outputs * size) };
}

export type Shape = readonly number[];

/** Uniform numbers of a deviation that is a function of the shape. */
export const uniformBy = (what: string, deviation: (shape: Shape) => number): OwnInitialiser =>
  givesPending(async (key, shape, placement) => {
    const bound = Math.sqrt(3) * deviation(shape);
    const where = readPlacement(what, placement);
    return random.uniform(shape, { key, low: -bound, high: bound, ...where });
  });

/** Normal numbers of such a deviation. */
export const normalBy = (what: string, deviation: (shape: Shape) => number): OwnInitialiser =>
  givesPending(async (key, shape, placement) =>
    random.normal(shape, { key, deviation: deviation(shape), ...readPlacement(what, placement) }),
  );

/** What linear layers and convolutions begin with where nothing is said: uniform within `1 / sqrt(fanIn)`, as in torch. */
export const withinFanIn = (fanIn: number): Initialiser =>
  uniformBy('init', () => 1 / Math.sqrt(3 * Math.max(1, fanIn)));

/** Normal numbers of deviation 1. */
export const standardNormal: Initialiser = normalBy('init', () => 1);

/** An initialiser that was given, or the default. @throws MercerError INVALID_ARGUMENT */
export function initialiserOr(what: string, given: unknown, otherwise: Initialiser): Initialiser {
  if (given === undefined) return otherwise;
  if (typeof given === 'function') return given as Initialiser;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what} is ${describeValue(given)}. Pass an initialiser, such as initialisers.xavierUniform().`,
  );
}
