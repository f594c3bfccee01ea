import type { Tree } from '@mercer/autodiff';
import { leavesOf } from '@mercer/autodiff/transform';
import { isTensor, MercerError, type Scope, type Tensor } from '@mercer/tensor';
import { formatShape } from '@mercer/tensor/operation';
import type { CheckedStep, SteppedLeaf } from '../rule.js';
import { FLOATING, namedLeaves, type NamedLeaf } from '../tree.js';
import { stateDType } from '../update.js';
import { copyAll } from './blocks.js';

const what = 'naturalGradient';

/** How many elements parameters have. */
export const totalOf = (leaves: readonly SteppedLeaf[]): number =>
  leaves.reduce((sum, { param }) => sum + param.size, 0);

/** The dtype of the system: float64 where a parameter is. */
export const systemDType = (leaves: readonly SteppedLeaf[]): 'float32' | 'float64' =>
  leaves.some(({ param }) => stateDType(param) === 'float64') ? 'float64' : 'float32';

/** @throws MercerError DISPOSED, DTYPE_MISMATCH, DEVICE_MISMATCH */
function checkGradients(one: Tensor, { param }: SteppedLeaf, word: string): void {
  one.assertAlive();
  if (!FLOATING.has(one.dtype)) {
    throw new MercerError(
      'DTYPE_MISMATCH',
      `${what}: ${word} is ${one.dtype}. Pass floating tensors.`,
    );
  }
  if (one.device === param.device) return;
  const { id } = param.device;
  throw new MercerError(
    'DEVICE_MISMATCH',
    `${what}: ${word} is on ${one.device.id}, and the parameters are on ${id}. Move it with to('${id}').`,
  );
}

/**
 * The columns of these parameters in gradients of examples with regard to all of the tree.
 *
 * @param given (N, P)
 */
async function columnsOf(
  scope: Scope,
  leaves: readonly SteppedLeaf[],
  all: readonly NamedLeaf[],
  given: Tensor,
): Promise<Tensor> {
  const dtype = systemDType(leaves);
  if (all.length === leaves.length) {
    return given.dtype === dtype ? given : scope.track(await given.cast(dtype));
  }
  const rows = scope.empty([given.shape[0] ?? 0, totalOf(leaves)], { dtype, device: given.device });
  const own = new Set(leaves.map(({ name }) => name));
  const from: Tensor[] = [];
  const to: Tensor[] = [];
  let [start, at] = [0, 0];
  for (const { name, tensor } of all) {
    const end = start + tensor.size;
    if (own.has(name)) {
      from.push(scope.track(given.slice(null, [start, end])));
      to.push(scope.track(rows.slice(null, [at, (at += tensor.size)])));
    }
    start = end;
  }
  await copyAll(from, to);
  return rows;
}

/** Gradients of examples as a matrix (N, P). @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH, DTYPE_MISMATCH, DEVICE_MISMATCH, DISPOSED */
export async function jacobianOf(
  scope: Scope,
  { leaves, params }: CheckedStep,
  given: Tree,
  extra: string,
): Promise<Tensor> {
  // of which the leaves are a group
  const all = await namedLeaves(params);
  const wanted = all.reduce((sum, { tensor }) => sum + tensor.size, 0);
  const total = totalOf(leaves);
  const dtype = systemDType(leaves);
  const { device } = (leaves[0] as SteppedLeaf).param;
  const wrong = (message: string): MercerError => new MercerError('SHAPE_MISMATCH', message);
  if (isTensor(given)) {
    if (given.rank === 2 && given.shape[1] === wanted) {
      checkGradients(given, leaves[0] as SteppedLeaf, extra);
      return columnsOf(scope, leaves, all, given);
    }
    if (all.length > 1) {
      throw wrong(
        `${what}: ${extra} is ${given.label}, and params have ${wanted} elements. Pass a matrix (N, ${wanted}), or a tree like the parameters.`,
      );
    }
  }
  const remedy =
    'Pass gradients of the same tree, with an axis of examples in front, or a matrix (N, P)';
  const found = await leavesOf(given, extra, remedy);
  const byName = new Map(
    found.map(({ value, path }) => [
      path === extra ? 'params' : path.slice(extra.length).replace(/^\./, ''),
      value,
    ]),
  );
  for (const { name } of all) {
    if (byName.has(name)) continue;
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${extra} has no ${name}, and params has. ${remedy}.`,
    );
  }
  if (byName.size > all.length) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: ${extra} has ${byName.size} tensors and params ${all.length}. ${remedy}.`,
    );
  }
  const [count = 0] = found[0]?.value.shape ?? [];
  const rows = scope.empty([count, total], { dtype, device });
  const from: Tensor[] = [];
  const to: Tensor[] = [];
  let at = 0;
  for (const leaf of leaves) {
    const { name, param } = leaf;
    const one = byName.get(name) as Tensor;
    checkGradients(one, leaf, `${extra} of ${name}`);
    if (String(one.shape) !== String([count, ...param.shape])) {
      throw wrong(
        `${what}: ${extra} of ${name} is ${formatShape(one.shape)}, and should be ${formatShape([count, ...param.shape])}. ${remedy}.`,
      );
    }
    const part = scope.track(rows.slice(null, [at, (at += param.size)]));
    from.push(one);
    to.push(scope.track(part.reshape(one.shape)));
  }
  await copyAll(from, to);
  return rows;
}
