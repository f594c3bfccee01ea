import { describeValue, type OptionNames } from '@mercer/options';
import { MercerError, type Tensor } from '@mercer/tensor';
import { checkAxis, formatShape, readOptions, Traced } from '@mercer/tensor/operation';
import { RETURN_TENSORS } from './differentiated-call.js';
import { checkFunction } from './grad.js';
import { heardInTraces } from './heard-in-traces.js';
import type { TreeFunction } from './jvp.js';
import { Batching } from './trace/batching.js';
import { alone, handleOf } from './trace/handed.js';
import { isLeaf, isRecord, leavesOf, replaced, type Leaf, type Settled } from './tree.js';

/** Along which axis the examples lie: one for all tensors of a tree, null for none, or the same for the parts of the tree. */
export type MappedAxes =
  number | null | readonly MappedAxes[] | { readonly [name: string]: MappedAxes };

/** Options of {@link vmap}. */
export interface VmapOptions {
  /**
   * Along which axis of its tensors the examples of each argument lie: one for all arguments, or a list with one for each. null is for what all examples
   * share. Default: 0.
   */
  readonly inAxes?: MappedAxes | undefined;
  /** Along which axis they lie in the results. null is for results that are the same for all examples. Default: 0. */
  readonly outAxes?: MappedAxes | undefined;
}

/** In front of paths in messages. */
const WHAT = 'vmap: ';

const VMAP_OPTIONS: OptionNames<VmapOptions> = { inAxes: true, outAxes: true };

/**
 * A function of one example as one of many: it is called once, and each of its operations computes all examples at once.
 *
 * Inside `f` tensors have the shape of one example. Operations are those of ordinary tensors with one batch axis more; the few that have none are called for one
 * example after the other. A value stands for all examples, so its elements cannot be read there. Maps and derivatives nest both ways: `vmap(grad(f))` gives
 * the gradients of each example.
 *
 * ```ts
 * import { grad, vmap } from '@mercer/autodiff';
 * import { tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const w = await tensor([1, 2], where);
 * const x = await tensor([[1, 0], [3, 1], [0, 2]], where);
 * const loss = (weights: Tensor, example: Tensor) => weights.mul(example).sum().square();
 * const each = await vmap(grad(loss), { inAxes: [null, 0] })(w, x);
 * console.log(await each.toNested()); // [ [ 2, 0 ], [ 30, 10 ], [ 0, 16 ] ]
 * ```
 *
 * @param f gives a tensor, or objects and arrays of tensors. It may be asynchronous
 * @returns a function of tensors with the mapped axis, which gives the results of all examples for the caller to dispose; what does not depend on
 *   an example is repeated
 * @throws MercerError SHAPE_MISMATCH where arguments have different numbers of examples, or an axis that one lacks; INVALID_ARGUMENT where nothing is mapped; MAPPED where elements are
 *   read; NOT_DIFFERENTIABLE by what takes no traced values; ESCAPED, DISPOSED; what `f` throws
 */
export function vmap<A extends readonly unknown[], R>(
  f: TreeFunction<A, R>,
  options?: VmapOptions,
): (...args: A) => Promise<Settled<R>> {
  checkFunction('vmap', f);
  const { inAxes = 0, outAxes = 0 } = readOptions('vmap', options, VMAP_OPTIONS);
  return heardInTraces(async (...args: A) => {
    const mapped = await mappedOf(args, inAxes);
    const trace = new Batching('vmap', sizeOf(mapped));
    const made: Tensor[] = [];
    try {
      const given = await Promise.all(
        args.map(async (one, at) => {
          const leaves = mapped[at];
          if (leaves === undefined) return one;
          const all = await Promise.all(leaves.map(async (leaf) => input(trace, leaf)));
          return replaced(
            one,
            all.map((tensor, k) => (leaves[k]?.axis === null ? tensor : trace.wrap(tensor))),
          );
        }),
      );
      const result = await f(...(given as unknown as A));
      const leaves = await leavesOf(result, 'vmap: the value', RETURN_TENSORS);
      const axes = axesOf(result, outAxes, 'vmap: outAxes');
      for (const { value } of leaves) value.assertAlive();
      await trace.close();
      for (const [at, leaf] of leaves.entries()) made.push(output(trace, leaf, axes[at] ?? null));
      trace.dispose();
      const whole = (await alone(made)) as readonly Tensor[];
      made.length = 0;
      return replaced(result, whole) as Settled<R>;
    } finally {
      for (const one of made) one.dispose();
      await trace.close();
      trace.dispose();
    }
  });
}

/** A tensor of an argument, with the axis along which its examples lie. */
type MappedLeaf = Leaf & { readonly axis: number | null };

/** The tensors of each argument; undefined for one of which nothing is mapped. @throws MercerError */
async function mappedOf(
  args: readonly unknown[],
  inAxes: MappedAxes,
): Promise<readonly (readonly MappedLeaf[] | undefined)[]> {
  if (isList(inAxes) && inAxes.length !== args.length) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `vmap: inAxes has ${inAxes.length} entries for ${args.length} arguments. Give one for each, null for what is not mapped.`,
    );
  }
  return Promise.all(
    args.map(async (one, at) => {
      const axes = isList(inAxes) ? inAxes[at] : inAxes;
      if (axes === null || axes === undefined) return undefined;
      const path = `${WHAT}argument ${at}`;
      const leaves = await leavesOf(
        one,
        path,
        'Pass a tensor, or arrays and objects of tensors, or null for it in inAxes',
      );
      const flat = axesOf(one, axes, `vmap: inAxes of argument ${at}`);
      return leaves.map((leaf, k) => {
        const axis = flat[k] ?? null;
        if (axis === null) return { ...leaf, axis };
        const { shape } = leaf.value;
        return { ...leaf, axis: axisOf(leaf.path, axis, shape) };
      });
    }),
  );
}

const isList = (axes: MappedAxes): axes is readonly MappedAxes[] => Array.isArray(axes);

/** @throws MercerError SHAPE_MISMATCH where a tensor has no such axis */
function axisOf(path: string, axis: number, shape: readonly number[]): number {
  if (shape.length > 0) return checkAxis(path, axis, shape.length, `shape ${formatShape(shape)}`);
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${path} has no axis along which examples lie. Pass null for it in inAxes where all share it.`,
  );
}

/** The axes of the tensors of a tree, in their order. @throws MercerError INVALID_ARGUMENT where they are not like the tree */
function axesOf(tree: unknown, axes: unknown, path: string): readonly (number | null)[] {
  const isOne = axes === null || Number.isInteger(axes);
  if (isOne && isLeaf(tree)) return [axes as number | null];
  const parts = isRecord(tree) || Array.isArray(tree) ? Object.entries<unknown>(tree) : [];
  const names = parts.map(([name]) => name);
  const isLike =
    Array.isArray(tree) === Array.isArray(axes) &&
    (Array.isArray(axes) || isRecord(axes)) &&
    Object.keys(axes).join() === names.join();
  if (!isLeaf(tree) && (isOne || isLike)) {
    const at = (name: string): unknown => (isOne ? axes : Reflect.get(axes as object, name));
    return parts.flatMap(([name, one]) => axesOf(one, at(name), `${path}.${name}`));
  }
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${path} is ${describeValue(axes)}. Give an axis such as 0, null for what is not mapped, or a tree of them with the names of that of the tensors.`,
  );
}

/** How many examples there are. @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH */
function sizeOf(mapped: readonly (readonly MappedLeaf[] | undefined)[]): number {
  const leaves = mapped.flatMap((one) => one ?? []).filter(({ axis }) => axis !== null);
  const sizes = leaves.map(({ value, axis }) => value.shape[axis ?? 0] ?? 0);
  const [size] = sizes;
  if (size === undefined) {
    throw new MercerError(
      'INVALID_ARGUMENT',
      'vmap: no tensor of the arguments is mapped. Name an axis of at least one in inAxes.',
    );
  }
  const other = sizes.findIndex((one) => one !== size);
  if (other < 0) return size;
  const said = [leaves[0], leaves[other]].flatMap((leaf) => {
    if (leaf === undefined) return [];
    const { shape } = leaf.value;
    return `${leaf.path.slice(WHAT.length)} has shape ${formatShape(shape)} with ${shape[leaf.axis ?? 0]} examples along axis ${leaf.axis}`;
  });
  throw new MercerError(
    'SHAPE_MISMATCH',
    `vmap: ${said.join(', and ')}. Pass as many examples in each, or null in inAxes for what all share.`,
  );
}

/** A tensor with the mapped axis in front, of which the trace has a handle of its own. */
async function input(trace: Batching, { value, axis }: MappedLeaf): Promise<Tensor> {
  if (axis === null) return value;
  if (axis === 0) return trace.own(value.view());
  // examples that lie one behind the other can be reshaped
  using moved = value.permute([axis, ...others(value.shape.length, axis)]);
  return trace.own(await moved.contiguous());
}

/** All axes but one. */
const others = (rank: number, axis: number): readonly number[] =>
  Array.from({ length: rank }, (_, k) => k).filter((k) => k !== axis);

/** A handle for the results of all examples. @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT for an axis that they cannot have */
function output(trace: Batching, { value, path }: Leaf, axis: number | null): Tensor {
  const given: unknown = value;
  const isMapped = given instanceof Traced && given.trace === trace;
  if (axis === null) {
    if (!isMapped) return handleOf(value);
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${path} depends on the examples, and outAxes is null for it. Give an axis, such as 0.`,
    );
  }
  const { shape } = value;
  const at = checkAxis(
    `${path}, outAxes`,
    axis,
    shape.length + 1,
    `shape ${formatShape(shape)} of examples`,
  );
  using whole = isMapped ? handleOf(given.primal) : value.broadcastTo([trace.size, ...shape]);
  return whole.permute(others(shape.length + 1, 0).toSpliced(at, 0, 0));
}
