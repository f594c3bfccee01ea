import { add, div, mul, sqrt, sub, variable, type RealExpr } from '@mercer/formula';
import { describeValue, type OptionNames } from '@mercer/options';
import { empty, isTensor, map, MercerError, type Tensor } from '@mercer/tensor';
import { readOptions } from '@mercer/tensor/operation';
import { checkCount, checkNumber, checkFraction, checkFlag, checkChoice } from '../checks.js';
import {
  composedFor,
  COMMON_OPTIONS,
  optimiserOf,
  readSettings,
  type CommonOptions,
  type Settings,
} from '../optimiser-of.js';
import type { Optimiser } from '../optimiser.js';
import type { Rule, RuleStep, SteppedLeaf, StepNumbers } from '../rule.js';
import { groupsRule } from '../training/groups.js';
import { stateDType, updateInPlace } from '../update.js';
import { adamW } from './adam.js';
import { scaledBy } from './elementwise.js';
import { checkLearningRate, rateOf, toldRate, type LearningRate } from './learning-rate.js';
import { orthogonalised } from './newton-schulz.js';

/** Options of {@link muon}. */
export interface MuonOptions extends CommonOptions {
  /** Default 0.02. */
  readonly lr?: LearningRate | undefined;
  /** Default 0.95. */
  readonly momentum?: number | undefined;
  /** Looks a step ahead of the momentum; default true. */
  readonly nesterov?: boolean | undefined;
  /** Takes lr times this off the parameter; default 0. */
  readonly weightDecay?: number | undefined;
  /** What the step is multiplied by: sqrt(max(1, rows / columns)) with `spectral`, the default, or 0.2 sqrt(max(rows, columns)) with `rms`, whose elements are then of the size of Adam's. */
  readonly scale?: 'spectral' | 'rms' | undefined;
  /** Of the Newton-Schulz iteration, whole; default 5. */
  readonly iterations?: number | undefined;
  /** What products are rounded to: bfloat16, the default, or the dtype that the parameter's state has. */
  readonly products?: 'bfloat16' | 'state' | undefined;
  /** Whether a parameter is a hidden matrix, which is what the method is for. Default: it has two axes or more. Axes behind the first are one, as of kernels of convolutions. */
  readonly matrices?: ((path: string, tensor: Tensor) => boolean) | undefined;
  /** The optimiser of all others, without nonFinite and maxGradNorm of its own; default adamW(). */
  readonly fallback?: Optimiser | undefined;
}

const MUON_OPTIONS: OptionNames<MuonOptions> = {
  ...COMMON_OPTIONS,
  lr: true,
  momentum: true,
  nesterov: true,
  weightDecay: true,
  scale: true,
  iterations: true,
  products: true,
  matrices: true,
  fallback: true,
};

const [p, g, m, x] = [variable('p'), variable('g'), variable('m'), variable('x')];
const [lr, momentum] = [variable('lr'), variable('momentum')];

const NUMBERS = { rate: lr, shrink: sub(1, mul(lr, variable('weightDecay'))) };

const NEXT = add(mul(momentum, m), mul(sub(1, momentum), g));
const AHEAD = add(mul(sub(1, momentum), g), mul(momentum, NEXT));
/** The next momentum, and what is made orthogonal. The first is kept where the step is not taken. */
const DIRECTIONS = { plain: { u: NEXT }, nesterov: { u: AHEAD } };
const SCALED_DIRECTIONS = {
  plain: scaledBy(DIRECTIONS.plain),
  nesterov: scaledBy(DIRECTIONS.nesterov),
};
const UPDATE = {
  p: sub(mul(p, variable('shrink')), mul(mul(variable('rate'), variable('scale')), x)),
  m: NEXT,
};
const SCALED_UPDATE = scaledBy(UPDATE);
const UNIT = div(x, add(sqrt(variable('squares')), 1e-7));

/** Options that are read. */
interface MuonSettings {
  readonly nesterov: boolean;
  readonly scale: 'spectral' | 'rms';
  readonly iterations: number;
  readonly products: 'bfloat16' | 'state';
  readonly momentum: number;
}

/**
 * Muon (Jordan et al. 2024): a momentum whose singular values are made 1. m = momentum m + (1 - momentum) g; U = (1 - momentum) g + momentum m, X = U / |U|, then `iterations` times
 * X = a X + (b A + c A^2) X with A = X X^T; W = (1 - lr weightDecay) W - lr scale X. It is for hidden matrices: leave embeddings and the last layer to the fallback, with `matrices`.
 *
 * ```ts
 * import { adamW, muon } from '@mercer/optim';
 *
 * const optimiser = muon({ lr: 0.02, fallback: adamW({ lr: 3e-4 }), matrices: (path, { rank }) => rank === 2 && !path.startsWith('embedding') });
 * console.log(optimiser.name); // groups(matrices: muon, others: adamW)
 * ```
 *
 * @throws MercerError INVALID_ARGUMENT; its steps as those of `sgd`
 */
export function muon(options?: MuonOptions): Optimiser {
  const what = 'muon';
  const given = readOptions(what, options, MUON_OPTIONS);
  const { matrices = (_: string, { rank }: Tensor) => rank >= 2, fallback = adamW() } = given;
  const rate = checkLearningRate(given.lr ?? 0.02, what);
  const weightDecay = checkNumber(given.weightDecay ?? 0, what, 'weightDecay');
  const settings: MuonSettings = {
    momentum: checkFraction(given.momentum ?? 0.95, what, 'momentum'),
    nesterov: checkFlag(given.nesterov ?? true, what, 'nesterov'),
    scale: checkChoice(given.scale ?? 'spectral', what, 'scale', ['spectral', 'rms']),
    products: checkChoice(given.products ?? 'bfloat16', what, 'products', ['bfloat16', 'state']),
    iterations: checkCount(given.iterations ?? 5, what, 'iterations', 0),
  };
  if (typeof matrices !== 'function') {
    throw new MercerError(
      'INVALID_ARGUMENT',
      `${what}: matrices is ${describeValue(matrices)}. Pass a function of the path and the tensor.`,
    );
  }
  const rule: Rule = {
    name: what,
    options: { lr: toldRate(rate), ...settings, weightDecay },
    slots: ({ name, tensor }) => {
      if (tensor.rank >= 2) return { m: { shape: tensor.shape, dtype: stateDType(tensor) } };
      throw new MercerError(
        'INVALID_ARGUMENT',
        `${what}: ${name} is ${tensor.label}, and no matrix. Let matrices leave it to the fallback.`,
      );
    },
    numbers: (step): StepNumbers => {
      const now = rateOf(rate, step, what);
      const parameters = { weightDecay };
      return isTensor(now)
        ? { formulas: NUMBERS, parameters, inputs: { lr: now } }
        : { formulas: NUMBERS, parameters: { ...parameters, lr: now } };
    },
    update: (step) => update(step, settings),
  };
  const others = composedFor(fallback, `${what}: fallback`);
  checkFallback(fallback.name, others.settings);
  const rules = new Map([
    ['matrices', rule],
    ['others', others.rule],
  ]);
  const name = `groups(matrices: ${what}, others: ${fallback.name})`;
  const groups = groupsRule(name, rules, (leaf) =>
    matrices(leaf.name, leaf.tensor) ? 'matrices' : 'others',
  );
  return optimiserOf(groups, readSettings(given, what));
}

/** What is decided of a step is decided for all parameters together. @throws MercerError INVALID_ARGUMENT */
function checkFallback(name: string, { nonFinite, maxGradNorm, lossScaling }: Settings): void {
  const own =
    maxGradNorm !== undefined
      ? `maxGradNorm ${maxGradNorm}`
      : nonFinite !== 'skip'
        ? `nonFinite '${nonFinite}'`
        : lossScaling && 'a scale of the loss';
  if (own === undefined) return;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `muon: fallback (${name}) has ${own}, and a step is decided for all parameters together. Pass nonFinite and maxGradNorm to muon, and lossScale what muon gives.`,
  );
}

/** Matrices of one shape, which are products together. */
interface Batch {
  readonly leaves: readonly SteppedLeaf[];
  readonly rows: number;
  readonly columns: number;
}

function batchesOf(leaves: readonly SteppedLeaf[]): readonly Batch[] {
  const batches = new Map<string, { leaves: SteppedLeaf[]; rows: number; columns: number }>();
  for (const leaf of leaves) {
    const [rows = 0] = leaf.param.shape;
    const columns = rows === 0 ? 0 : leaf.param.size / rows;
    if (leaf.param.size === 0) continue;
    const key = `${rows} ${columns} ${stateDType(leaf.param)}`;
    const batch = batches.get(key);
    if (batch === undefined) batches.set(key, { leaves: [leaf], rows, columns });
    else batch.leaves.push(leaf);
  }
  return [...batches.values()];
}

async function update({ leaves, numbers }: RuleStep, settings: MuonSettings): Promise<void> {
  for (const batch of batchesOf(leaves)) await updateBatch(batch, numbers, settings);
}

async function updateBatch(
  { leaves, rows, columns }: Batch,
  numbers: RuleStep['numbers'],
  { nesterov, scale, iterations, products, momentum: mu }: MuonSettings,
): Promise<void> {
  const [first] = leaves as readonly [SteppedLeaf];
  const dtype = stateDType(first.param);
  const parameters = { momentum: mu };
  const { factor } = numbers;
  const direction = (factor === undefined ? DIRECTIONS : SCALED_DIRECTIONS)[
    nesterov ? 'nesterov' : 'plain'
  ] as { u: RealExpr };
  using all = empty([leaves.length, rows, columns], { device: first.param.device, dtype });
  await eachOf(all, leaves, async (u) => {
    const lists = {
      g: leaves.map(({ grad }) => grad),
      m: leaves.map(({ slots }) => slots['m'] as Tensor),
      ...(factor && { factor: leaves.map(() => factor[dtype] as Tensor) }),
    };
    await map(direction, lists, { out: { u }, parameters });
  });
  using squares = await all.square().sum([1, 2], { keepDims: true });
  const rounded = products === 'bfloat16' ? 'bfloat16' : dtype;
  const unit = await map(UNIT, { x: all, squares }, { dtype: rounded });
  using directions = await orthogonalised(unit as Tensor, iterations, rounded);
  const by =
    scale === 'rms'
      ? 0.2 * Math.sqrt(Math.max(rows, columns))
      : Math.sqrt(Math.max(1, rows / columns));
  await eachOf(directions, leaves, (parts) =>
    updateInPlace({
      leaves,
      formulas: factor === undefined ? UPDATE : SCALED_UPDATE,
      lists: { g: leaves.map(({ grad }) => grad), x: parts },
      numbers,
      parameters: { ...parameters, scale: by },
    }),
  );
}

/** Work with the matrices of a batch, each in the shape of its parameter. */
async function eachOf(
  all: Tensor,
  leaves: readonly SteppedLeaf[],
  work: (parts: readonly Tensor[]) => Promise<void>,
): Promise<void> {
  const parts = leaves.map(({ param }, at) => {
    using matrix = all.slice(at);
    return matrix.reshape(param.shape);
  });
  try {
    await work(parts);
  } finally {
    for (const one of parts) one.dispose();
  }
}
