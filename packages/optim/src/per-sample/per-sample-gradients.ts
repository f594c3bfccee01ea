import type { OptionNames } from '@mercer/options';
import { grad, vmap, type Differentiable, type Tree } from '@mercer/autodiff';
import { isTree, leavesOf, owned, replaced, type Leaf } from '@mercer/autodiff/transform';
import { arange, isTensor, MercerError, type Tensor } from '@mercer/tensor';
import {
  availableBytes,
  coreOf,
  flatArguments,
  formatShape,
  mapArguments,
  readOptions,
} from '@mercer/tensor/operation';
import { checkCount, checkFlag, checkChoice } from '../checks.js';
import { checkLoss, observed, pathOf, type ObservedLayer } from '../statistics/observed.js';
import { disposeOthers } from '../statistics/with-statistics.js';
import { insteadOf, NotByRules, type Chunk } from './chunks.js';
import { LAYER_RULES, type ParameterRule } from './layer-rules.js';
import { Whole } from './whole.js';

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
  /** How many examples are computed at once. Default: as many as fit into half of the free memory. */
  readonly chunkSize?: number | undefined;
}

const OPTIONS: OptionNames<PerSampleOptions> = {
  reduction: true,
  norms: true,
  method: true,
  chunkSize: true,
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
 * of the examples' losses: it is computed by `vmap`, of each example's own labels, and NaN where none counts; `reduction: 'sum'`, in both, gives those gradients 0 and takes the rules. Where another axis is as long as there are examples, the loss runs once more with the first of them, which tells whether axes were moved. Anything else is computed by `vmap(grad)` of a batch of one.
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
  } = readOptions(WHAT, options, OPTIONS);
  checkChoice(reduction, WHAT, 'reduction', ['mean', 'sum']);
  checkFlag(norms, WHAT, 'norms');
  if (method !== undefined) checkChoice(method, WHAT, 'method', ['rules', 'vmap']);
  if (chunkSize !== undefined) checkCount(chunkSize, WHAT, 'chunkSize');
  const leaves = await leavesOf(params, `${WHAT}: the parameters`);
  const count = await countOfExamples(inputs, targets);
  const size = chunkSize ?? examplesAtOnce(leaves);
  const call: Call = { lossFn: lossFn as Call['lossFn'], params, leaves, reduction, norms, method };
  const whole = new Whole(count, norms);
  try {
    let isByRules = method !== 'vmap';
    // of no examples there is one chunk, for the shapes
    for (let start = 0; start < Math.max(count, 1); start += size) {
      const stop = Math.min(count, start + size);
      const [x, y] = await Promise.all(
        [inputs, targets].map(async (one) => part(one, start, stop, count)),
      );
      try {
        const found = isByRules ? await byRules(call, x, y, { start, stop, count }) : undefined;
        isByRules = found !== undefined;
        await whole.add(found ?? (await byExamples(call, x, y)), start, stop);
      } finally {
        if (stop - start < count) for (const one of [x, y]) await disposeAll(one);
      }
    }
    return (await whole.result(params)) as P | PerSampleNorms<P>;
  } catch (error) {
    whole.dispose();
    throw error;
  }
}

interface Call {
  readonly lossFn: (params: unknown, inputs: unknown, targets: unknown) => Differentiable;
  readonly params: unknown;
  readonly leaves: readonly Leaf[];
  readonly reduction: 'mean' | 'sum';
  readonly norms: boolean;
  readonly method: PerSampleOptions['method'];
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

async function disposeAll(tree: unknown): Promise<void> {
  if (isTree(tree)) for (const { value } of await leavesOf(tree, WHAT)) value.dispose();
}

/** What each parameter has of each example by the rules of layers; undefined where they are not enough. */
async function byRules(
  call: Call,
  inputs: unknown,
  targets: unknown,
  chunk: Chunk,
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
      instead: insteadOf(chunk),
    });
    using value = seen.value;
    ({ layers } = seen);
    checkAxes(layers, count);
    await checkMoved(call, layers, inputs, targets, count);
    using numbers = await arange(count, { dtype: 'int64', device: value.device });
    const tensors = layers.flatMap(({ args, outputGradient }) =>
      [...flatArguments(args), outputGradient].filter(isTensor),
    );
    const compute = owned(WHAT, async (numbered: Tensor, ...given: readonly Tensor[]) => {
      const known = new Map<unknown, unknown>(tensors.map((one, at) => [one, given[at]]));
      const traced = layers.map((layer) => ({
        ...layer,
        args: mapArguments(layer.args, (one) => known.get(one) ?? one),
        outputGradient: known.get(layer.outputGradient) as Tensor,
      }));
      const rules = rulesOf(call, traced, numbered);
      return Promise.all(
        call.leaves.map(async ({ value, path }) =>
          combined(rules.get(inTree(path)) ?? [], value, call.norms),
        ),
      );
    });
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

const hasParameters = (paths: ObservedLayer['paths']): boolean =>
  paths.slice(1).some((path) => path !== undefined);

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
 * That axis 0 is that of the examples where another one is as long: the batch of the first example alone has to have 1 there. Once for a function and sizes.
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
  const all = inputsOf(layers);
  const isSure = all.every(({ name, input: { shape } }) => {
    // no axis of features, over which a layer adds up or whose elements have parameters of their own
    const places =
      name === 'linear' ? shape.slice(1, -1) : shape.slice(name.startsWith('conv') ? 2 : 1);
    return !places.includes(count);
  });
  if (isSure || count <= 1) return;
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

const inTree = (path: string): string => pathOf(path.slice(`${WHAT}: the parameters`.length));

/** The rules for each parameter by its path: one for each use. @throws NotByRules */
function rulesOf(
  { leaves, reduction }: Call,
  layers: readonly ObservedLayer[],
  numbers: Tensor,
): ReadonlyMap<string, readonly ParameterRule[]> {
  const [count = 0] = numbers.shape;
  const rules = new Map<string, ParameterRule[]>();
  for (const { name, args, paths, outputGradient } of layers) {
    if (!hasParameters(paths)) continue;
    const factor = reduction === 'mean' ? count : 1;
    const rule = LAYER_RULES[name](args, outputGradient, numbers);
    for (const at of [1, 2] as const) {
      const path = paths[at];
      const one = rule[at];
      if (path === undefined || one === undefined) continue;
      rules.set(path, [...(rules.get(path) ?? []), scaled(one, factor)]);
    }
  }
  const missing = leaves.find(({ path }) => !rules.has(inTree(path)));
  if (missing !== undefined) throw new NotByRules(`${inTree(missing.path)} is used by no layer`);
  return rules;
}

/** The loss is a mean: each cotangent is a fraction of its example's. */
function scaled(rule: ParameterRule, factor: number): ParameterRule {
  if (factor === 1) return rule;
  const { gradient, squaredNorm } = rule;
  return {
    gradient: () => gradient().mul(factor),
    ...(squaredNorm !== undefined && { squaredNorm: () => squaredNorm().mul(factor ** 2) }),
  };
}

/** The gradients of each example, or the squares of their norms, of a parameter with one use or several. */
async function combined(
  rules: readonly ParameterRule[],
  { dtype }: Tensor,
  norms: boolean,
): Promise<Tensor> {
  const [only] = rules;
  if (norms && rules.length === 1 && only?.squaredNorm !== undefined) return only.squaredNorm();
  const sum = rules
    .map(({ gradient }) => gradient())
    .reduce((one, other) => one.add(other as Tensor));
  if (!norms) return sum.cast(dtype);
  return squares((await sum) as Tensor);
}

/** The squared norm of each row, of any number of axes. */
async function squares(gradients: Tensor): Promise<Tensor> {
  const axes = gradients.shape.map((_, axis) => axis).slice(1);
  return axes.length === 0 ? gradients.square() : gradients.square().sum(axes);
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
