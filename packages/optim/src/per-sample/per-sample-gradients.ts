import type { OptionNames } from '@mercer/options';
import { grad, vmap, type Differentiable, type Tree } from '@mercer/autodiff';
import {
  isTree,
  leavesOf,
  owned,
  ownedInto,
  replaced,
  type Leaf,
} from '@mercer/autodiff/transform';
import { arange, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  availableBytes,
  coreOf,
  flatArguments,
  formatShape,
  isTraced,
  mapArguments,
  readOptions,
} from '@mercer/tensor/operation';
import { checkCount, checkFlag, checkChoice } from '../checks.js';
import { checkLoss, observed, pathOf, type ObservedLayer } from '../statistics/observed.js';
import { disposeOthers } from '../statistics/with-statistics.js';
import { insteadOf, NotByRules, type Chunk } from './chunks.js';
import { gradientOf, hasParameters, rulesOf, squaredNormOf, squares, summed } from './combined.js';
import { assertUnread, targetsOf, Whole } from './whole.js';

/** Options of {@link perSampleGradients}. */
export interface PerSampleOptions<N extends boolean = boolean> {
  /** What the loss makes of the losses of the examples. Default: 'mean'. */
  readonly reduction?: 'mean' | 'sum' | undefined;
  /** Norms are wanted, and no gradients: they are not stored where they need not be. Default: false. */
  readonly norms?: N | undefined;
  /**
   * 'rules': one backward pass over a batch, from which each layer's rule makes the gradients; it refuses what is no parameter of a layer. 'vmap': the gradient of
   * each example by `vmap(grad)`, for any function. Default: rules where they are enough, else vmap.
   */
  readonly method?: 'rules' | 'vmap' | undefined;
  /** How many examples are computed at once. Default: as many as fit into half of the memory that is free when the function is called, or captured by `prepare`. */
  readonly chunkSize?: number | undefined;
  /**
   * Where gradients are written, and then given: a tree like the parameters, of tensors (N, ..shape) of their dtypes. Not with `norms`. A function that `prepare` captures leaves them there, where what it
   * gives would be copied in each replay. The loss must not read them: what an operation on its arguments reads is looked at.
   */
  readonly out?: object | undefined;
}

const OPTIONS: OptionNames<PerSampleOptions> = {
  reduction: true,
  norms: true,
  method: true,
  chunkSize: true,
  out: true,
};

/** Norms of the gradients of N examples. */
export interface PerSampleNorms<P> {
  /** Like the parameters: (N) for each, the norms of its gradients. */
  readonly norms: P;
  /** (N): the norms of the gradients by all parameters. */
  readonly total: Tensor;
}

type LossFunction<P, X, Y> = (params: P, inputs: X, targets: Y) => Differentiable;

const WHAT = 'perSampleGradients';

/**
 * The gradient of each example's loss by the parameters: a tree like them, with N examples along axis 0 of each tensor.
 *
 * The loss is a function of a batch: it gives the mean (or the sum) of the losses of its examples, of which none depends on another one. Where each parameter is that of layers (linear, conv1d, conv2d, embedding,
 * layerNorm, and batchNorm without training), one backward pass over the batch gives the gradients of the layers' outputs, and a rule of each layer the gradients by its parameters; the layers' inputs have the examples
 * along axis 0, in their order, and dropout drops of each what it drops in the whole batch, however it is cut into chunks. The mean of `crossEntropy` over the labels that count, with `ignoreIndex` or `classWeights`, is no mean
 * of the examples' losses: it is computed by `vmap`, of each example's own labels, and NaN where none counts; `reduction: 'sum'`, in both, gives those gradients 0 and takes the rules. Once for a function and the shapes of its layers' inputs the loss runs with the first example alone, which tells whether these lie along axis 0: not of constants with as many rows, nor where axes were moved. Define the function once, and not in each step. Anything else is computed by `vmap(grad)` of a batch of one.
 *
 * ```ts
 * import { layers, losses, perSampleGradients } from '@mercer/optim';
 * import { random, tensor, type Tensor } from '@mercer/tensor';
 *
 * const where = { device: 'cpu' } as const;
 * const layer = layers.linear({ inputs: 2, outputs: 3 });
 * const params = await layer.init(random.key(1), where);
 * const loss = (p: typeof params, x: Tensor, labels: Tensor) => losses.crossEntropy(layer.apply(p, x), labels);
 * const x = await tensor([[1, 2], [3, 4], [5, 6], [7, 8]], where);
 * const labels = await tensor(Int32Array.of(0, 1, 2, 0), where);
 * const each = await perSampleGradients(loss, params, x, labels);
 * console.log(each.weight.shape); // [ 4, 3, 2 ]
 * const { total } = await perSampleGradients(loss, params, x, labels, { norms: true });
 * console.log(total.shape); // [ 4 ]
 * ```
 *
 * @param inputs a tensor, or a tree of tensors, with the examples along axis 0
 * @param targets the same, or anything else, which all examples share
 * @returns gradients, or with `norms: true` the norms, for the caller to dispose
 * @throws MercerError INVALID_ARGUMENT, SHAPE_MISMATCH; UNSUPPORTED where `method` is 'rules' and they are not enough, and for batchNorm in training; what the loss and `vmap` throw
 */
export function perSampleGradients<P extends Tree, X, Y>(
  lossFn: LossFunction<P, X, Y>,
  params: P,
  inputs: X,
  targets: Y,
  options?: PerSampleOptions<false>,
): Promise<P>;
export function perSampleGradients<P extends Tree, X, Y>(
  lossFn: LossFunction<P, X, Y>,
  params: P,
  inputs: X,
  targets: Y,
  options: PerSampleOptions & { readonly norms: true },
): Promise<PerSampleNorms<P>>;
export async function perSampleGradients<P extends Tree, X, Y>(
  lossFn: LossFunction<P, X, Y>,
  params: P,
  inputs: X,
  targets: Y,
  options?: PerSampleOptions,
): Promise<P | PerSampleNorms<P>> {
  checkLoss(WHAT, lossFn);
  const {
    reduction = 'mean',
    norms = false,
    method,
    chunkSize,
    out,
  } = readOptions(WHAT, options, OPTIONS);
  checkChoice(reduction, WHAT, 'reduction', ['mean', 'sum']);
  checkFlag(norms, WHAT, 'norms');
  if (method !== undefined) checkChoice(method, WHAT, 'method', ['rules', 'vmap']);
  if (chunkSize !== undefined) checkCount(chunkSize, WHAT, 'chunkSize');
  checkOut(out, norms);
  const leaves = await leavesOf(params, `${WHAT}: the parameters`);
  const count = await countOfExamples(inputs, targets);
  const size = chunkSize ?? examplesAtOnce(leaves);
  const given =
    out === undefined ? undefined : await targetsOf(WHAT, out, leaves, [inputs, targets], count);
  const call: Call = {
    lossFn: lossFn as Call['lossFn'],
    params,
    leaves,
    reduction,
    norms,
    method,
    targets: given,
  };
  const whole = new Whole(count, norms, given);
  if (count > size && !norms) whole.make(leaves);
  try {
    let isByRules = method !== 'vmap';
    // of no examples there is one chunk, for the shapes
    for (let start = 0; start < Math.max(count, 1); start += size) {
      const stop = Math.min(count, start + size);
      const [x, y] = await Promise.all(
        [inputs, targets].map(async (one) => part(one, start, stop, count)),
      );
      const into = whole.places(start, stop);
      try {
        const found = isByRules
          ? await byRules(call, x, y, { start, stop, count }, into)
          : undefined;
        isByRules = found !== undefined;
        if (found === undefined || found !== into)
          await whole.add(found ?? (await byExamples(call, x, y)), start, stop);
      } finally {
        for (const one of into ?? []) one.dispose();
        if (stop - start < count) for (const one of [x, y]) await disposeAll(one);
      }
    }
    return (await whole.result(params)) as P | PerSampleNorms<P>;
  } catch (error) {
    whole.dispose();
    throw error;
  }
}

/** That gradients have no place where norms alone are wanted. @throws MercerError INVALID_ARGUMENT */
function checkOut(out: unknown, norms: boolean): void {
  if (out === undefined || !norms) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${WHAT}: out with norms: true, which gives no gradients. Leave one of them away.`,
  );
}

interface Call {
  readonly lossFn: (params: unknown, inputs: unknown, targets: unknown) => Differentiable;
  readonly params: unknown;
  readonly leaves: readonly Leaf[];
  readonly reduction: 'mean' | 'sum';
  readonly norms: boolean;
  readonly method: PerSampleOptions['method'];
  /** Where gradients are written, of the caller. */
  readonly targets: readonly Tensor[] | undefined;
}

/** How many examples there are. @throws MercerError SHAPE_MISMATCH, INVALID_ARGUMENT */
async function countOfExamples(inputs: unknown, targets: unknown): Promise<number> {
  const all: Leaf[] = [];
  for (const [name, one] of Object.entries({ inputs, targets }))
    if (name === 'inputs' || isTree(one))
      all.push(...(await leavesOf(one, `${WHAT}: the ${name}`)));
  const [first] = all;
  const count = first?.value.shape[0];
  const other = all.find(({ value }) => value.shape[0] === undefined || value.shape[0] !== count);
  if (first !== undefined && count !== undefined && other === undefined) return count;
  const said = [first, other]
    .flatMap((leaf) =>
      leaf === undefined
        ? []
        : `${leaf.path.slice(WHAT.length + 2)} have shape ${formatShape(leaf.value.shape)}`,
    )
    .join(', and ');
  throw new MercerError(
    'SHAPE_MISMATCH',
    `${WHAT}: ${said || 'there are no inputs'}. Pass tensors with the same number of examples along axis 0.`,
  );
}

/** Gradients of each example take this many times the memory of the parameters while they are computed. */
const COPIES = 4;

function examplesAtOnce(leaves: readonly Leaf[]): number {
  const [first] = leaves;
  if (first === undefined || !isTensor(first.value)) return Infinity;
  const bytes = leaves.reduce((sum, { value }) => sum + value.bytes, 0);
  const free = availableBytes(coreOf(first.value.device));
  return Math.max(1, Math.floor(free / 2 / (COPIES * Math.max(1, bytes))));
}

/** The examples of a chunk. */
async function part(tree: unknown, start: number, stop: number, count: number): Promise<unknown> {
  if (!isTree(tree) || stop - start === count) return tree;
  const leaves = await leavesOf(tree, WHAT);
  return replaced(
    tree,
    leaves.map(({ value }) => value.slice([start, stop])),
  );
}

/** Whether another transform, outside of this one, traces what a layer is called with. */
const isSeenFromOutside = ({ args, outputGradient }: ObservedLayer): boolean =>
  [...flatArguments(args), outputGradient].some(isTraced);

async function disposeAll(tree: unknown): Promise<void> {
  if (isTree(tree)) for (const { value } of await leavesOf(tree, WHAT)) value.dispose();
}

/**
 * What each parameter has of each example by the rules of layers; undefined where they are not enough.
 *
 * @param into where gradients are written, and then given
 */
async function byRules(
  call: Call,
  inputs: unknown,
  targets: unknown,
  chunk: Chunk,
  into: readonly Tensor[] | undefined,
): Promise<readonly Tensor[] | undefined> {
  const count = chunk.stop - chunk.start;
  let layers: readonly ObservedLayer[] = [];
  try {
    const seen = await observed(call.lossFn, [call.params, inputs, targets], {
      what: WHAT,
      withGradients: false,
      hasAux: false,
      onOtherUse: (path, operation) => {
        throw new NotByRules(`${path} is used by ${operation}, which is no layer's use of it`);
      },
      onRead: (args, operation) => {
        assertUnread(WHAT, call, args, operation);
      },
      instead: insteadOf(chunk),
    });
    using value = seen.value;
    ({ layers } = seen);
    if (layers.some(isSeenFromOutside)) {
      throw new NotByRules('values of another transform reach a layer');
    }
    checkAxes(layers, count);
    await checkMoved(call, layers, inputs, targets, count);
    using numbers = await arange(count, { dtype: 'int64', device: value.device });
    const tensors = layers.flatMap(({ args, outputGradient }) =>
      [...flatArguments(args), outputGradient].filter(isTensor),
    );
    const rules = (numbered: Tensor, given: readonly Tensor[]): ReturnType<typeof rulesOf> => {
      const known = new Map<unknown, unknown>(tensors.map((one, at) => [one, given[at]]));
      const traced = layers.map((layer) => ({
        ...layer,
        args: mapArguments(layer.args, (one) => known.get(one) ?? one),
        outputGradient: known.get(layer.outputGradient) as Tensor,
      }));
      return rulesOf(call.leaves.map(inTree), call.reduction, traced, numbered);
    };
    if (into !== undefined) {
      const write = (numbered: Tensor, ...given: readonly Tensor[]) => ({
        // written in the dtype of where they belong
        results: rules(numbered, given).map(summed),
      });
      await ownedInto(WHAT, write, into)(numbers, ...tensors);
      return into;
    }
    const compute = owned(WHAT, async (numbered: Tensor, ...given: readonly Tensor[]) =>
      Promise.all(
        rules(numbered, given).map(async (own, at): Promise<Tensor> =>
          call.norms ? squaredNormOf(own) : gradientOf(own, (call.leaves[at] as Leaf).value),
        ),
      ),
    );
    return await compute(numbers, ...tensors);
  } catch (error) {
    if (!(error instanceof NotByRules)) throw error;
    if (call.method === undefined) return undefined;
    throw new MercerError(
      'UNSUPPORTED',
      `${WHAT}: ${error.message}. Leave method away, so that vmap computes the gradients.`,
      { cause: error },
    );
  } finally {
    for (const layer of layers) disposeOthers(layer);
  }
}

const inTree = ({ path }: Leaf): string => pathOf(path.slice(`${WHAT}: the parameters`.length));

/** Layers with parameters, and the shapes of their inputs. */
const inputsOf = (
  layers: readonly ObservedLayer[],
): readonly { readonly name: ObservedLayer['name']; readonly input: Tensor }[] =>
  layers.flatMap(({ name, args, paths }) =>
    hasParameters(paths) ? [{ name, input: args[0] as Tensor }] : [],
  );

/** That the inputs of layers have as many along axis 0 as there are examples, beside their features. @throws NotByRules */
function checkAxes(layers: readonly ObservedLayer[], count: number): void {
  for (const { name, input } of inputsOf(layers)) {
    const least = name === 'embedding' ? 1 : 2;
    if (input.shape.length >= least && input.shape[0] === count) continue;
    throw new NotByRules(
      `a layer (${name}) gets ${input.label} for ${count} examples, which have to lie along axis 0`,
    );
  }
}

/** Sizes of the layers' inputs of which it is known that axis 0 is that of the examples, by the loss. */
const known = new WeakMap<Call['lossFn'], Set<string>>();

/**
 * That axis 0 is that of the examples, and not another one as long or that of a constant with as many rows: the batch of the first example alone has to have 1 there. Once for a function and sizes.
 *
 * @throws NotByRules
 */
async function checkMoved(
  call: Call,
  layers: readonly ObservedLayer[],
  inputs: unknown,
  targets: unknown,
  count: number,
): Promise<void> {
  // which the rules refuse, and which refuses one example
  const isRefused = layers.some(({ name }) => name === 'batchNorm in training');
  if (count <= 1 || isRefused) return;
  const all = inputsOf(layers);
  const key = all.map(({ name, input }) => `${name} ${formatShape(input.shape)}`).join();
  let sizes = known.get(call.lossFn);
  if (sizes === undefined) known.set(call.lossFn, (sizes = new Set()));
  if (sizes.has(key)) return;
  const [x, y] = await Promise.all([inputs, targets].map(async (one) => part(one, 0, 1, count)));
  let alone: readonly ObservedLayer[] = [];
  try {
    const seen = await observed(call.lossFn, [call.params, x, y], {
      what: WHAT,
      withGradients: false,
      hasAux: false,
    });
    seen.value.dispose();
    alone = seen.layers;
    const found = inputsOf(alone);
    for (const [at, { name, input }] of all.entries()) {
      const one = found[at]?.input.shape[0];
      if (one === 1 && found.length === all.length) continue;
      throw new NotByRules(
        `a layer (${name}) gets ${input.label} for ${count} examples and ${found[at]?.input.label ?? 'nothing'} for 1, which have to lie along axis 0`,
      );
    }
    sizes.add(key);
  } finally {
    for (const layer of alone) disposeOthers(layer);
    for (const one of [x, y]) await disposeAll(one);
  }
}

/** The same by the gradient of each example as a batch of one. */
async function byExamples(
  { lossFn, params, norms }: Call,
  inputs: unknown,
  targets: unknown,
): Promise<readonly Tensor[]> {
  const one = async (own: unknown, x: unknown, y: unknown): Promise<Tensor> =>
    lossFn(own, await asBatch(x), isTree(y) ? await asBatch(y) : y);
  const each = vmap(grad(one), { inAxes: [null, 0, isTree(targets) ? 0 : null] });
  const found = await leavesOf(await each(params, inputs, targets), WHAT);
  const all = found.map(({ value }) => value);
  if (!norms) return all;
  const squared = await Promise.all(all.map(squares));
  for (const gradient of all) gradient.dispose();
  return squared;
}

/** An example as a batch of one. */
async function asBatch(tree: unknown): Promise<unknown> {
  const leaves = await leavesOf(tree, WHAT);
  return replaced(
    tree,
    leaves.map(({ value }) => value.reshape([1, ...value.shape])),
  );
}
