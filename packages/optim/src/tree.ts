import { leavesOf } from '@mercer/autodiff/transform';
import { MercerError, type Tensor } from '@mercer/tensor';
import { assertWritable, formatShape, isTraced, viewsOverlap } from '@mercer/tensor/operation';

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
 * The tensors of a tree by their paths, each of which says of one tensor where it stands.
 *
 * @param word what the tree is called: the word before the paths in messages
 * @param what the optimiser, in front of them
 * @throws MercerError INVALID_ARGUMENT for what is no tree of tensors, and where two have the same path; NOT_DIFFERENTIABLE for traced values
 */
async function byPath(
  tree: unknown,
  word: string,
  what?: string,
): Promise<ReadonlyMap<string, Tensor>> {
  const all = new Map<string, Tensor>();
  const before = what === undefined ? word : `${what}: ${word}`;
  for (const { value, path } of await leavesOf(tree, before, REMEDY)) {
    const name = nameOf(path, before);
    if (what !== undefined && isTraced(value)) {
      throw new MercerError(
        'NOT_DIFFERENTIABLE',
        `${before}: ${name} is a value of a function that is differentiated, and an optimiser changes tensors in place. Call it behind grad or valueAndGrad, with the tensors themselves and their gradients.`,
      );
    }
    if (all.has(name)) {
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${before}: two tensors have the path ${name}, as { 'a.b': x, a: { b: y } } has two a.b. Name members without dots and brackets.`,
      );
    }
    all.set(name, value);
  }
  return all;
}

/**
 * The tensors of a tree with their paths, in the order in which they stand.
 *
 * @param what the tree, for messages: the word before the paths in them
 * @throws MercerError INVALID_ARGUMENT for what is no tree of tensors, and where two have memory or the path together; DISPOSED
 */
export async function namedLeaves(
  tree: unknown,
  what = 'params',
  by?: string,
): Promise<readonly NamedLeaf[]> {
  const leaves = [...(await byPath(tree, what, by))].map(([name, tensor]) => ({ name, tensor }));
  for (const { tensor } of leaves) tensor.assertAlive();
  for (const [a, b] of inOneStorage(leaves)) {
    if (!viewsOverlap(a.tensor, b.tensor)) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${a.name} and ${b.name} are the same memory, or have a part of it together, which would be updated twice. Let the tree have each tensor once, and use it in the function where it is needed.`,
    );
  }
  return leaves;
}

/** Pairs of tensors that are views of one storage, in the order in which they stand. */
function* inOneStorage<T extends { readonly tensor: Tensor }>(
  all: Iterable<T>,
): Generator<readonly [T, T]> {
  const before = new Map<object, T[]>();
  for (const one of all) {
    const { storage } = one.tensor;
    const others = before.get(storage);
    if (others === undefined) {
      before.set(storage, [one]);
      continue;
    }
    for (const other of others) yield [other, one];
    others.push(one);
  }
}

/**
 * Checks that a gradient has no memory of a parameter but, in the same layout, of its own: it would be read when a part of it is written.
 *
 * @throws MercerError OVERLAP
 */
export function assertApart(
  params: readonly NamedLeaf[],
  grads: readonly Tensor[],
  what: string,
): void {
  const all = [
    ...params.map(({ name, tensor }, at) => ({ name, tensor, at, isGrad: false })),
    ...grads.map((tensor, at) => ({
      name: (params[at] as NamedLeaf).name,
      tensor,
      at,
      isGrad: true,
    })),
  ];
  for (const [a, b] of inOneStorage(all)) {
    if (a.isGrad || !b.isGrad || !viewsOverlap(a.tensor, b.tensor)) continue;
    if (a.at === b.at && isSameView(a.tensor, b.tensor)) continue;
    throw new MercerError(
      'OVERLAP',
      `${what}: the gradient of ${b.name} has memory of the parameter ${a.name}. Pass gradients of their own, for example what clone() gives.`,
    );
  }
}

const isSameView = (a: Tensor, b: Tensor): boolean =>
  a.dtype === b.dtype &&
  a.offset === b.offset &&
  a.shape.every((n, axis) => n === 1 || a.strides[axis] === b.strides[axis]);

/** Dtypes that have gradients. */
export const FLOATING: ReadonlySet<string> = new Set(['float64', 'float32', 'float16', 'bfloat16']);

/**
 * The tensors of parameters: floating, and on one device.
 *
 * @param what the optimiser, for messages
 * @throws MercerError INVALID_ARGUMENT, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED; OVERLAP for a view that has an element several times
 */
export async function parameterLeaves(tree: unknown, what: string): Promise<readonly NamedLeaf[]> {
  const leaves = await namedLeaves(tree, 'params', what);
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
    assertWritable(tensor, `${what}: ${name}`);
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
      ? [
          'the gradient of ',
          'gradients of the same tree, as grad() gives them, or the grad of what valueAndGrad() gives',
        ]
      : ['the new ', 'the same tree'];
  const given = new Map(await byPath(grads, word, what));
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
