import type { OptionNames } from '@mercer/options';
import { stack, type Tensor } from '@mercer/tensor';
import { readOptions, type KnownValue, type Value } from '@mercer/tensor/operation';
import { checkTensor, labelOf, layerOperation, shapeError } from './layer-operation.js';
import { readContext, type Layer, type NoParams } from './layer.js';
import { perAxis, placesOf, windowed, type Window } from './windows.js';

/** Options of {@link maxPool2d} and {@link averagePool2d}. Pairs are of the height and the width. */
export interface PoolingOptions {
  /** Elements of the window along each axis. */
  readonly kernel: number | readonly number[];
  /** From one place to the next. Default: the kernel, so that windows do not overlap. */
  readonly stride?: number | readonly number[] | undefined;
  /** What is added on both sides: at most half of the kernel. Default: 0. */
  readonly padding?: number | readonly number[] | undefined;
}

const POOLING: OptionNames<PoolingOptions> = { kernel: true, stride: true, padding: true };

type Kind = 'maxPool2d' | 'averagePool2d';

const pooled = (what: Kind): ((x: Value, window: Window) => Value) =>
  layerOperation(what, (x: KnownValue, window: Window): Value => {
    checkTensor(x, `${what}: x`);
    const { kernel, padding } = window;
    if (x.shape.length <= kernel.length)
      throw shapeError(`${what}: x is ${labelOf(x)}. Pass (N, channels, height, width).`);
    const places = placesOf(what, x, window);
    const isMax = what === 'maxPool2d';
    const around = isMax && padding.some((n) => n > 0) ? -Infinity : 0;
    const parts = windowed(x, x.shape.length - kernel.length, window, places, around);
    const all = stack(parts as Tensor[]);
    return isMax ? all.max(0) : all.mean(0);
  });

const maximal = pooled('maxPool2d');
const mean = pooled('averagePool2d');

function pooling(what: Kind, options: PoolingOptions): Layer {
  const given = readOptions(what, options, POOLING);
  const kernel = perAxis(given.kernel, what, 'kernel', 2, 1);
  const stride = perAxis(given.stride ?? kernel, what, 'stride', 2, 1);
  const padding = perAxis(given.padding ?? 0, what, 'padding', 2, 0);
  if (padding.some((n, k) => 2 * n > (kernel[k] ?? 0))) {
    throw shapeError(
      `${what}: padding ${padding.join(', ')} is more than half of the kernel ${kernel.join(', ')}, so that windows would hold nothing. Pass less padding.`,
    );
  }
  const window = { kernel, stride, padding, dilation: [1, 1] };
  return {
    name: what,
    init: async () => Promise.resolve<NoParams>({}),
    apply: (_params, x, context) => {
      readContext(what, context);
      return (what === 'maxPool2d' ? maximal : mean)(x, window);
    },
  };
}

/**
 * The largest element of each window over height and width: x (N, channels, height, width), result (N, channels, places, places), as many as a convolution has. Equal elements share the
 * gradient.
 *
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH
 */
export const maxPool2d = (options: PoolingOptions): Layer => pooling('maxPool2d', options);

/**
 * The mean of each window over height and width: as {@link maxPool2d}. Zeros of the padding count, as in torch.
 *
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH
 */
export const averagePool2d = (options: PoolingOptions): Layer => pooling('averagePool2d', options);
