import { describeList, type OptionNames } from '@mercer/options';
import { MercerError, stack, type Tensor } from '@mercer/tensor';
import { owned } from '@mercer/autodiff/transform';
import {
  isTraced,
  pendingOf,
  readOptions,
  sizeOfShape,
  whenKnown,
  type KnownValue,
  type Value,
} from '@mercer/tensor/operation';
import { checkCount, checkFlag } from '../checks.js';
import { initialiserOr, withinFanIn, type Initialiser } from './initialiser.js';
import {
  checkTensor,
  howOf,
  labelOf,
  layerOperation,
  product,
  shapeError,
} from './layer-operation.js';
import { readContext, type Layer } from './layer.js';
import { weightsMaker, type Weights } from './linear.js';
import { perAxis, placesOf, windowed, type Window } from './windows.js';

/** How the kernel of a convolution moves: a number for all axes, or one for each. */
export interface ConvolutionSteps {
  /** Elements from one place to the next. Default: 1. */
  readonly stride?: number | readonly number[] | undefined;
  /** Zeros on both sides. Default: 0. */
  readonly padding?: number | readonly number[] | undefined;
  /** Elements from one of the kernel's to the next. Default: 1. */
  readonly dilation?: number | readonly number[] | undefined;
  /** Into how many parts the channels are cut, each with outputs of its own. Default: 1. */
  readonly groups?: number | undefined;
}

/** The same, read. */
export interface Moves extends Omit<Window, 'kernel'> {
  readonly groups: number;
}

const STEPS: OptionNames<ConvolutionSteps> = {
  stride: true,
  padding: true,
  dilation: true,
  groups: true,
};

const EVERY = 1;

/** Options of a convolution in full. @throws MercerError INVALID_ARGUMENT */
export function readMoves(what: string, given: ConvolutionSteps, axes: number): Moves {
  const { stride = EVERY, padding = 0, dilation = EVERY, groups = 1 } = given;
  return {
    stride: perAxis(stride, what, 'stride', axes, 1),
    padding: perAxis(padding, what, 'padding', axes, 0),
    dilation: perAxis(dilation, what, 'dilation', axes, 1),
    groups: checkCount(groups, what, 'groups'),
  };
}

type Arguments = readonly [x: KnownValue, weight: KnownValue, bias: KnownValue | undefined, Moves];

/** The shapes of a call. @throws MercerError SHAPE_MISMATCH */
export function convolutionShapes(
  what: string,
  [x, weight, bias, moves]: Arguments,
): {
  readonly window: Window;
  readonly places: readonly number[];
  readonly outputs: number;
} {
  const axes = moves.stride.length;
  const extents = ['length', 'height, width'][axes - 1] ?? '';
  checkTensor(x, `${what}: x`);
  checkTensor(weight, `${what}: weight`);
  if (x.shape.length !== axes + 2)
    throw shapeError(`${what}: x is ${labelOf(x)}. Pass (N, channels, ${extents}).`);
  const [outputs = 0, inputs = 0, ...kernel] = weight.shape;
  if (kernel.length !== axes || kernel.includes(0)) {
    throw shapeError(
      `${what}: weight is ${labelOf(weight)}. Pass (outputs, inputs of a group, ${extents} of the kernel).`,
    );
  }
  const { groups } = moves;
  if (x.shape[1] !== inputs * groups || outputs % groups !== 0) {
    throw shapeError(
      `${what}: x is ${labelOf(x)} and weight ${labelOf(weight)} with ${groups} groups: x has to have ${inputs * groups} channels, ${inputs} for each group, and the outputs have to be a multiple of the groups.`,
    );
  }
  if (bias !== undefined) {
    checkTensor(bias, `${what}: bias`);
    if (bias.shape.length !== 1 || bias.shape[0] !== outputs) {
      throw shapeError(
        `${what}: bias is ${labelOf(bias)} and weight ${labelOf(weight)}. Pass a bias with an element for each of the ${outputs} outputs.`,
      );
    }
  }
  const window = { kernel, ...moves };
  return { window, places: placesOf(what, x, window), outputs };
}

/**
 * A convolution as one product: the patches of all examples and places are the columns of one matrix for each group, which views of x are joined to. So are its gradients, of any
 * order.
 */
function convolved(what: string, args: Arguments): Value {
  const { window, places, outputs } = convolutionShapes(what, args);
  const [x, weight, bias, moves] = args;
  const { groups } = moves;
  const biased = (y: Value): Value =>
    bias === undefined ? y : y.add(bias.reshape([outputs, ...places.map(() => 1)]));
  if (bias !== undefined && isTraced(bias) && !isTraced(x) && !isTraced(weight)) {
    const y = (what === 'conv1d' ? conv1dFunction : conv2dFunction)(x, weight, undefined, moves);
    const result = biased(y);
    disposeBehind(result, y);
    return result;
  }
  const examples = x.shape[0] ?? 0;
  const rows = sizeOfShape(weight.shape.slice(1));
  const columns = examples * sizeOfShape(places);
  const shape = groups === 1 ? [rows, columns] : [groups, rows, columns];
  const form: PatchForm = { window, places, shape };
  // no trace owns what is made of constants
  const patches = isTraced(x)
    ? patchesOf(x, form)
    : pendingOf(async () => patchesOfConstant(x, form) as Promise<Tensor>);
  const lead = groups === 1 ? [outputs] : [groups, outputs / groups];
  const y = product(weight.reshape([...lead, rows]), patches, howOf(x, weight));
  if (!isTraced(x)) disposeBehind(y, patches);
  const axes = places.map((_, k) => k + 2);
  return biased(y.reshape([outputs, examples, ...places]).permute([1, 0, ...axes]));
}

/** How patches lie. */
interface PatchForm {
  readonly window: Window;
  readonly places: readonly number[];
  /** With the patch of each example and place as a column. */
  readonly shape: readonly number[];
}

function patchesOf(x: KnownValue, { window, places, shape }: PatchForm): Value {
  // channels in front: the product gives the places of all examples side by side
  const turned = x.permute([1, 0, ...places.map((_, k) => k + 2)]);
  const parts = windowed(turned, 2, window, places);
  const [only] = parts;
  const patches = parts.length === 1 && only !== undefined ? only : stack(parts as Tensor[], 1);
  return flat(patches, shape);
}

const patchesOfConstant = owned('the patches of a convolution', (x: KnownValue, form: PatchForm) =>
  patchesOf(x, form),
);

/** Gives a result back once another one, which is computed from it, is there: a trace has handles of its own. */
function disposeBehind(other: Value, one: Value): void {
  const free = async (): Promise<void> => {
    (await one).dispose();
  };
  const ignore = (): void => undefined;
  void whenKnown(other).catch(ignore).then(free).catch(ignore);
}

const flat = (x: Value, shape: readonly number[]): Value => x.contiguous().reshape(shape);

const operations = ['conv1d', 'conv2d'].map((what) =>
  layerOperation(
    what,
    (x: KnownValue, weight: KnownValue, bias: KnownValue | undefined, moves: Moves) =>
      convolved(what, [x, weight, bias, moves]),
  ),
);

const convolution =
  (axes: 1 | 2) =>
  (x: Value, weight: Value, bias?: Value, options?: ConvolutionSteps): Value => {
    const what = `conv${axes}d`;
    const moves = readMoves(what, readOptions(what, options, STEPS), axes);
    return (operations[axes - 1] as NonNullable<(typeof operations)[0]>)(x, weight, bias, moves);
  };

/** The function of {@link conv1d}: x (N, channels, length), weight (outputs, channels / groups, kernel), bias (outputs). */
export const conv1dFunction = convolution(1);

/** The function of {@link conv2d}: x (N, channels, height, width), weight (outputs, channels / groups, height, width of the kernel), bias (outputs). */
export const conv2dFunction = convolution(2);

/** Options of {@link conv1d} and {@link conv2d}. */
export interface ConvolutionOptions extends ConvolutionSteps {
  /** Channels of the input. */
  readonly inputs: number;
  /** Channels of the output. */
  readonly outputs: number;
  /** Elements of the kernel along each axis: a number for all of them, or one for each. */
  readonly kernel: number | readonly number[];
  /** Whether a bias is added. Default: true. */
  readonly bias?: boolean | undefined;
  /** Default: uniform within `1 / sqrt(inputs / groups * size of the kernel)`, as torch's. */
  readonly weightInit?: Initialiser | undefined;
  /** Default: the same. */
  readonly biasInit?: Initialiser | undefined;
}

const CONVOLUTION: OptionNames<ConvolutionOptions> = {
  ...STEPS,
  inputs: true,
  outputs: true,
  kernel: true,
  bias: true,
  weightInit: true,
  biasInit: true,
};

function convolutionLayer(axes: 1 | 2, options: ConvolutionOptions): Layer<Weights> {
  const what = `conv${axes}d`;
  const given = readOptions(what, options, CONVOLUTION);
  const inputs = checkCount(given.inputs, what, 'inputs');
  const outputs = checkCount(given.outputs, what, 'outputs');
  const kernel = perAxis(given.kernel, what, 'kernel', axes, 1);
  const moves = readMoves(what, given, axes);
  const { groups } = moves;
  if (inputs % groups !== 0 || outputs % groups !== 0) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${describeList([inputs, outputs])} channels of input and output are no multiples of ${groups} groups. Choose groups that divide both.`,
    );
  }
  const otherwise = withinFanIn((inputs / groups) * sizeOfShape(kernel));
  const weightInit = initialiserOr(`${what}: weightInit`, given.weightInit, otherwise);
  const biasInit = initialiserOr(`${what}: biasInit`, given.biasInit, otherwise);
  const hasBias = checkFlag(given.bias ?? true, what, 'bias');
  const operation = operations[axes - 1] as NonNullable<(typeof operations)[0]>;
  const shape = [outputs, inputs / groups, ...kernel];
  return {
    name: what,
    init: weightsMaker(what, shape, hasBias, { weightInit, biasInit }),
    apply: ({ weight, bias }, x, context) => {
      readContext(what, context);
      return operation(x, weight, bias, moves);
    },
  };
}

/**
 * A convolution over a length: x (N, inputs, length), result (N, outputs, places), weight (outputs, inputs / groups, kernel), bias (outputs). See
 * {@link conv2d}.
 */
export const conv1d = (options: ConvolutionOptions): Layer<Weights> => convolutionLayer(1, options);

/**
 * A convolution over height and width (a cross-correlation, as in torch): x (N, inputs, height, width), result (N, outputs, places, places), weight (outputs,
 * inputs / groups, height, width), bias (outputs). Along an axis there are `floor((extent + 2 padding - dilation (kernel - 1) - 1) / stride) + 1`
 * places.
 *
 * ```ts
 * import { layers } from '@mercer/optim';
 * import { random, zeros } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.conv2d({ inputs: 1, outputs: 4, kernel: 3, padding: 1, stride: 2 });
 * const params = await layer.init(random.key(1), where);
 * const y = await layer.apply(params, await zeros([5, 1, 8, 8], where));
 * console.log(params.weight.shape, y.shape); // [ 4, 1, 3, 3 ] [ 5, 4, 4, 4 ]
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; of apply SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export const conv2d = (options: ConvolutionOptions): Layer<Weights> => convolutionLayer(2, options);
