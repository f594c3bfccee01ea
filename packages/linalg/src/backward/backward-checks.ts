import { MercerError, type Tensor } from '@mercer/tensor';
import { assertTensor, formatShape } from '@mercer/tensor/operation';

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

/**
 * Checks the gradients of several results, of which some may be missing.
 *
 * @throws MercerError INVALID_ARGUMENT where there is none at all; else as {@link assertLike}
 */
export function assertGradients<R extends string>(
  what: string,
  gradients: { readonly [K in R]?: Tensor | undefined },
  results: { readonly [K in R]: Tensor },
): void {
  const names = Object.keys(results) as R[];
  let given = 0;
  for (const name of names) {
    const gradient: Tensor | undefined = gradients[name];
    if (gradient === undefined) continue;
    given++;
    assertLike(what, `the gradient of ${name}`, gradient, results[name].shape, results[name]);
  }
  if (given > 0) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: no gradient is given. Pass that of at least one result: ${names.join(', ')}.`,
  );
}

/** The extents before the last `kept` axes. */
export function batchOf(x: { readonly shape: readonly number[] }, kept: 1 | 2): readonly number[] {
  return x.shape.slice(0, -kept);
}
