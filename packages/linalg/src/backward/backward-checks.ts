import { own } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { assertTensor, formatShape } from '@mercer/tensor/operation';
import type { PlannedCall } from '../planned-call.js';

/**
 * Checks a tensor beside one that is known to be right: alive, of this shape, and of the other's dtype and device.
 *
 * @throws MercerError INVALID_ARGUMENT, DISPOSED, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH
 */
export function assertLike(
  what: string,
  name: string,
  x: Tensor,
  shape: readonly number[],
  like: Tensor,
): void {
  assertTensor(x, `${what}: ${name}`);
  if (x.shape.length !== shape.length || x.shape.some((extent, i) => extent !== shape[i])) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: ${name} is ${x.label}, and its shape must be ${formatShape(shape)}. Pass the tensors of one forward call, and gradients of its results.`,
    );
  }
  if (x.dtype !== like.dtype) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${name} is ${x.label}, and the others are ${like.dtype}. Cast one of them.`,
    );
  }
  if (x.device !== like.device) {
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${name} is ${x.label}, and the others are on ${like.device.id}. Move it with to('${like.device.id}').`,
    );
  }
}

/** What the gradient of a result is called among the tensors of a call. */
export const gradientName = (result: string): string => `the gradient of ${result}`;

/** The same of several. */
export const gradientNames = (results: readonly string[]): string[] => results.map(gradientName);

/** The gradients of results that are there, by those names. */
export const gradientsOf = (given: object, results: readonly string[]): Record<string, Tensor> =>
  Object.fromEntries(
    Object.entries(own(given as Record<string, Tensor | undefined>, ...results)).flatMap(
      ([name, one]) => (one === undefined ? [] : [[gradientName(name), one]]),
    ),
  );

/**
 * Checks the gradients of several results, of which some may be missing.
 *
 * @throws MercerError INVALID_ARGUMENT where there is none at all; else as {@link assertLike}
 */
export function assertGradients(
  { what, given }: Pick<PlannedCall, 'what' | 'given'>,
  results: Readonly<Record<string, Tensor>>,
): void {
  const found = Object.entries(results).filter(([name]) =>
    Object.hasOwn(given, gradientName(name)),
  );
  for (const [name, result] of found) {
    const gradient = given[gradientName(name)] as Tensor;
    assertLike(what, gradientName(name), gradient, result.shape, result);
  }
  if (found.length > 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: no gradient is given. Pass that of at least one result: ${Object.keys(results).join(', ')}.`,
  );
}
