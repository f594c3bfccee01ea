import { leavesOf } from '@mercer/autodiff/transform';
import { MercerError, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';

/** A tensor of a tree with the path to it. */
export interface NamedLeaf {
  /** Such as `layers[0].weight`; `params` for a tree that is a tensor. */
  readonly name: string;
  readonly tensor: Tensor;
}

/** A path without the word before it. */
const nameOf = (path: string, word: string): string =>
  path === word ? 'params' : path.slice(word.length).replace(/^\./, '');

const REMEDY = 'Pass a tensor, or arrays and objects of tensors';

/**
 * The tensors of a tree with their paths, in the order in which they stand.
 *
 * @param what the tree, for messages: the word before the paths in them
 * @throws MercerError INVALID_ARGUMENT for what is no tree of tensors, and where the same memory stands twice in it; DISPOSED
 */
export async function namedLeaves(tree: unknown, what = 'params'): Promise<readonly NamedLeaf[]> {
  const leaves = (await leavesOf(tree, what, REMEDY)).map(({ value, path }) => ({
    name: nameOf(path, what),
    tensor: value,
  }));
  const places = new Map<string, string>();
  for (const { name, tensor } of leaves) {
    tensor.assertAlive();
    if (tensor.size === 0) continue;
    const place = `${tensor.device.id} ${tensor.storage.address + tensor.byteOffset}`;
    const before = places.get(place);
    if (before !== undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${before} and ${name} are the same memory, which would be updated twice. Let the tree have each tensor once, and use it in the function where it is needed.`,
      );
    }
    places.set(place, name);
  }
  return leaves;
}

const FLOATING: ReadonlySet<string> = new Set(['float64', 'float32', 'float16', 'bfloat16']);

/**
 * The tensors of parameters: floating, and on one device.
 *
 * @param what the optimiser, for messages
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED
 */
export async function parameterLeaves(tree: unknown, what: string): Promise<readonly NamedLeaf[]> {
  const leaves = await namedLeaves(tree);
  const [first] = leaves;
  if (first === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: params has no tensor. Pass the tensors that are to be trained.`,
    );
  }
  for (const { name, tensor } of leaves) {
    if (!FLOATING.has(tensor.dtype)) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `${what}: ${name} is ${tensor.dtype}, and has no gradient. Keep it out of the tree, or cast it to float32.`,
      );
    }
    if (tensor.device === first.tensor.device) continue;
    throw new MercerError(
      'DEVICE_MISMATCH',
      `${what}: ${name} is on ${tensor.device.id} and ${first.name} on ${first.tensor.device.id}. Move all parameters to one device.`,
    );
  }
  return leaves;
}

/**
 * For each parameter its gradient, which stands at the same path of another tree.
 *
 * @param what the optimiser, for messages
 * @param word what the tree is called in them
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, with the path
 */
export async function gradientsOf(
  params: readonly NamedLeaf[],
  grads: unknown,
  what: string,
  word: 'grads' | 'params' = 'grads',
): Promise<readonly Tensor[]> {
  const [noun, same] =
    word === 'grads'
      ? ['the gradient of ', 'gradients of the same tree, as grad() gives them']
      : ['the new ', 'the same tree'];
  const given = new Map(
    (await leavesOf(grads, word, REMEDY)).map(({ value, path }) => [nameOf(path, word), value]),
  );
  const found = params.map(({ name, tensor }) => {
    const grad = given.get(name);
    if (grad === undefined) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${word} has no ${name}, and the parameters have. Pass ${same}.`,
      );
    }
    given.delete(name);
    grad.assertAlive();
    if (String(grad.shape) !== String(tensor.shape)) {
      throw new MercerError(
        'SHAPE_MISMATCH',
        `${what}: ${noun}${name} is ${formatShape(grad.shape)}, and ${name} is ${formatShape(tensor.shape)}. Pass ${same}.`,
      );
    }
    if (!FLOATING.has(grad.dtype)) {
      throw new MercerError(
        'DTYPE_MISMATCH',
        `${what}: ${noun}${name} is ${grad.dtype}. Pass floating tensors.`,
      );
    }
    if (grad.device !== tensor.device) {
      throw new MercerError(
        'DEVICE_MISMATCH',
        `${what}: ${noun}${name} is on ${grad.device.id}, and ${name} on ${tensor.device.id}. Move it with to('${tensor.device.id}').`,
      );
    }
    return grad;
  });
  const [more] = given.keys();
  if (more === undefined) return found;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: ${word} has ${more}, and the parameters have not. Pass ${same}.`,
  );
}
