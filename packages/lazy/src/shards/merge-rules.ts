import {
  ops,
  reduction as describe,
  traitsOf,
  vij,
  type Reduction,
  type ReductionKind,
} from '@mercer/formula';
import {
  concat,
  Scope,
  takeAlongAxis,
  where,
  type DType,
  type Pending,
  type Tensor,
} from '@mercer/tensor';
import { differentiable } from '@mercer/tensor/operation';
import { pairInput } from '../make-input.js';
import type { IndexDType } from '../reduction-types.js';
import type { JointTask, Reductions } from '../task.js';

/** Computes a task on the device of its inputs, which are tensors. */
export type Compute = (task: JointTask) => Tensor[] | Promise<Tensor[]>;

/** What merging needs of the call. */
export interface MergeCall {
  readonly what: string;
  /** Of the values in the results. */
  readonly dtype: DType;
  readonly indexDtype: IndexDType;
  readonly compute: Compute;
  /** Whether each kept row meets rows of its own, so that it has a count of its own. */
  readonly isSparse: boolean;
  /** Whether derivatives are taken of the parts: then they are of kinds that have some. */
  readonly isTraced?: boolean | undefined;
}

/** What is known of one kept block after some rows of the reduced side: tensors that the rule of its kind understands. */
export interface PartialResult {
  readonly tensors: readonly Tensor[];
  /** How many rows of the reduced side were seen. */
  readonly rows: number;
}

/** How a reduction is put together from blocks of the reduced side. */
export interface MergeRule {
  /** What is computed of each block. */
  readonly parts: Reductions;
  /** Of a block's results, in the order of `parts`; its first row has the number `start`. */
  readonly begin: (results: readonly Tensor[], start: number) => Promise<Tensor[]>;
  /** Of both; `a` has seen the rows before those of `b`. */
  readonly merge: (a: PartialResult, b: PartialResult) => Promise<Tensor[]>;
  /** The results of the reduction itself. */
  readonly finish: (state: PartialResult) => Promise<Tensor[]>;
}

/**
 * The rule of a reduction. Sums, products, means, variances and exponentials are carried in float64, so that any number of blocks adds one
 * rounding to those of the parts. Extrema are compared as (value, row number), so that the first row wins whatever the blocks are, and a
 * NaN is treated as inside a block: merged, they have the bits of one block.
 */
export function mergeRule(of: Reduction, call: MergeCall): MergeRule {
  const { kind } = of;
  const { takesK, extremum, outputs } = traitsOf(kind);
  if (traitsOf(kind).isExponential) return exponentials(of, call);
  if (takesK) return severalExtrema(of, call);
  if (extremum !== undefined && outputs.includes('index')) return indexedExtrema(of, call);
  switch (kind) {
    case 'Min':
    case 'All':
      return asTheyAre(of, call, (a, b) => a.minimum(b));
    case 'Max':
    case 'Any':
      return asTheyAre(of, call, (a, b) => a.maximum(b));
    case 'Var':
      return call.isSparse ? sparseVariance(of, call) : variance(of, call);
    case 'Prod':
      return inFloat64(of, call, (a, b) => a.mul(b));
    case 'Mean':
      if (call.isSparse) return sparseMean(of, call);
      return inFloat64(
        { ...of, kind: 'Sum' },
        call,
        (a, b) => a.add(b),
        (sum, rows) => sum.div(rows),
      );
    case 'Sum':
    case 'Count':
      return inFloat64(of, call, (a, b) => a.add(b));
    default:
      throw new Error(`${kind} has no rule for blocks`);
  }
}

type Binary = (a: Tensor, b: Tensor) => PromiseLike<Tensor>;

const valueOf = ({ tensors }: Pick<PartialResult, 'tensors'>): Tensor => tensors[0] as Tensor;
const otherOf = ({ tensors }: Pick<PartialResult, 'tensors'>): Tensor => tensors[1] as Tensor;

/** Results that are merged as they are. */
const asTheyAre = (part: Reduction, { dtype }: MergeCall, merged: Binary): MergeRule => ({
  parts: [part],
  begin: async (tensors) => [await valueOf({ tensors }).clone()],
  merge: async (a, b) => [await merged(valueOf(a), valueOf(b))],
  finish: async (state) => [await valueOf(state).cast(dtype)],
});

const inFloat64 = (
  part: Reduction,
  { dtype }: MergeCall,
  merged: Binary,
  finished: (x: Tensor, rows: number) => PromiseLike<Tensor> = (x) => x.clone(),
): MergeRule => ({
  parts: [part],
  begin: async (tensors) => [await valueOf({ tensors }).cast('float64')],
  merge: async (a, b) => [await merged(valueOf(a), valueOf(b))],
  finish: async (state) => {
    using whole = await finished(valueOf(state), state.rows);
    return [await whole.cast(dtype)];
  },
});

/** Means and variances, merged by the rule of Chan, Golub and LeVeque (1979). */
function variance(of: Reduction, { dtype }: MergeCall): MergeRule {
  return {
    parts: [{ ...of, kind: 'Mean' }, of],
    begin: async ([mean, spread]) => [
      await (mean as Tensor).cast('float64'),
      await (spread as Tensor).cast('float64'),
    ],
    merge: async (a, b) => {
      using steps = new Scope();
      const step = steps.track.bind(steps);
      const share = b.rows / (a.rows + b.rows);
      const apart = step(await valueOf(b).sub(valueOf(a)));
      const mean = await valueOf(a).add(step(apart.mul(share)));
      const within = step(otherOf(a).mul(1 - share));
      const weighed = step(within.add(step(otherOf(b).mul(share))));
      const between = step(step(apart.square()).mul(share * (1 - share)));
      return [mean, await weighed.add(between)];
    },
    finish: async (state) => [await otherOf(state).cast(dtype)],
  };
}

/** How many rows a kept row meets. */
const countOf = ({ axis }: Reduction): Reduction => describe('Count', 1, { axis });

/** Means of rows that each have a count of their own. */
function sparseMean(of: Reduction, { dtype }: MergeCall): MergeRule {
  return {
    parts: [{ ...of, kind: 'Sum' }, countOf(of)],
    begin: async (tensors) => Promise.all(tensors.map((one) => one.cast('float64'))),
    merge: async (a, b) => [await valueOf(a).add(valueOf(b)), await otherOf(a).add(otherOf(b))],
    finish: async (state) => {
      using mean = await valueOf(state).div(otherOf(state));
      return [await mean.cast(dtype)];
    },
  };
}

/** Variances of rows that each have a count of their own; of no rows mean and variance are carried as 0. */
function sparseVariance(of: Reduction, { dtype }: MergeCall): MergeRule {
  const countAt = ({ tensors }: Pick<PartialResult, 'tensors'>): Tensor => tensors[2] as Tensor;
  return {
    parts: [{ ...of, kind: 'Mean' }, of, countOf(of)],
    begin: async (tensors) => {
      using count = await countAt({ tensors }).cast('float64');
      const known = async (x: Tensor): Promise<Tensor> => {
        using wide = await x.cast('float64');
        using isKnown = count.gt(0);
        return await where(isKnown, wide, 0);
      };
      return [
        await known(valueOf({ tensors })),
        await known(otherOf({ tensors })),
        await count.clone(),
      ];
    },
    merge: async (a, b) => {
      using steps = new Scope();
      const step = steps.track.bind(steps);
      const count = step(await countAt(a).add(countAt(b)));
      const share = step(await where(step(count.gt(0)), step(countAt(b).div(count)), 0));
      const rest = step(await step(share.neg()).add(1));
      const apart = step(await valueOf(b).sub(valueOf(a)));
      const mean = await valueOf(a).add(step(apart.mul(share)));
      const within = step(otherOf(a).mul(rest));
      const weighed = step(within.add(step(otherOf(b).mul(share))));
      const between = step(step(step(apart.square()).mul(share)).mul(rest));
      return [mean, await weighed.add(between), await count.clone()];
    },
    finish: async (state) => {
      using isKnown = countAt(state).gt(0);
      using found = await where(isKnown, otherOf(state), NaN);
      return [await found.cast(dtype)];
    },
  };
}

/** Sums of exponentials beside the largest exponent. `part` gives both; of a soft maximum the last sum is that of the exponentials alone. */
function exponentials(of: Reduction, { dtype, isTraced = false }: MergeCall): MergeRule {
  const { kind } = of;
  const isMean = kind === 'SumSoftMaxWeight';
  return {
    ...(isTraced && kind !== 'MaxSumShiftExp' ? tracedSums(of) : shiftedSums(of)),
    merge: async (a, b) => {
      using steps = new Scope();
      const step = steps.track.bind(steps);
      const largest = await valueOf(a).maximum(valueOf(b));
      // Equal ones, infinite ones among them, change nothing.
      const shifted = (of: PartialResult): Pending<Tensor> => {
        const factor = step(step(valueOf(of).sub(largest)).exp());
        const isLargest = step(valueOf(of).eq(largest));
        return step(otherOf(of).mul(step(where(isLargest, 1, factor))));
      };
      return [largest, await shifted(a).add(shifted(b))];
    },
    finish: async (state) => {
      const [largest, sums] = [valueOf(state), otherOf(state)];
      if (kind === 'MaxSumShiftExp') {
        using whole = await concat([largest, sums], -1);
        return [await whole.cast(dtype)];
      }
      const dim = sums.shape.at(-1) ?? 1;
      using terms = columns(sums, 0, dim - 1);
      using total = columns(sums, dim - 1, dim);
      using logarithm = sums.log();
      using found = isMean ? await terms.div(total) : await logarithm.add(largest);
      return [await found.cast(dtype)];
    },
  };
}

/** The largest exponent and the sums beside it, in one pass. */
function shiftedSums({
  kind,
  formula,
  axis,
  weight,
}: Reduction): Pick<MergeRule, 'parts' | 'begin'> {
  const isMean = kind === 'SumSoftMaxWeight';
  const terms = isMean && weight !== undefined ? ops.concat(weight, 1) : weight;
  return {
    parts: [describe('MaxSumShiftExp', formula, { axis, weight: terms })],
    begin: async (tensors) => {
      using whole = await valueOf({ tensors }).cast('float64');
      using largest = columns(whole, 0, 1);
      using sums = columns(whole, 1, whole.shape.at(-1) ?? 1);
      return [await largest.clone(), await sums.clone()];
    },
  };
}

/** A value as a constant. */
const constant = differentiable('constant', (x: Tensor) => x.view(), 'constant');

/**
 * The same with derivatives: in the place of the largest exponent stands the logarithm of the sum of exponentials as a constant, whose sum beside it is 1, and changes as the
 * logarithm does. Weighted sums are means by that.
 */
function tracedSums({
  kind,
  formula,
  axis,
  weight,
}: Reduction): Pick<MergeRule, 'parts' | 'begin'> {
  const log = describe('LogSumExp', formula, { axis });
  return {
    parts:
      weight === undefined ? [log] : [log, describe('SumSoftMaxWeight', formula, { axis, weight })],
    begin: async (tensors) => {
      using steps = new Scope();
      const step = steps.track.bind(steps);
      const exponent = step(await valueOf({ tensors }).cast('float64'));
      const largest = constant(exponent);
      const isFinite = step(step(largest.abs()).lt(Infinity));
      const known = (x: Tensor): Pending<Tensor> => step(where(isFinite, x, 0));
      const change = step(step(known(exponent).sub(step(known(largest)))).exp());
      // no rows have no sum
      const total = step(await where(isFinite, change, step(largest.gt(0))));
      if (weight === undefined) return [largest, await total.clone()];
      const mean = step(await otherOf({ tensors }).cast('float64'));
      const isKnown = step(mean.eq(mean));
      const sums = step(step(await where(isKnown, mean, 0)).mul(total));
      if (kind !== 'SumSoftMaxWeight') return [largest, await sums.clone()];
      return [largest, await concat([sums, total], -1)];
    },
  };
}

/** Values and row numbers, where only row numbers may be wanted. */
const WITH_VALUES: Partial<Record<ReductionKind, ReductionKind>> = {
  ArgMin: 'MinArgMin',
  ArgMax: 'MaxArgMax',
  ArgKMin: 'KMinArgKMin',
  ArgKMax: 'KMaxArgKMax',
  KMin: 'KMinArgKMin',
  KMax: 'KMaxArgKMax',
};

type Extrema = Pick<MergeRule, 'parts' | 'begin' | 'finish'>;

/** The extrema of blocks and their row numbers among all rows. */
function withRowNumbers(of: Reduction, { dtype, indexDtype }: MergeCall): Extrema {
  const { outputs } = traitsOf(of.kind);
  return {
    parts: [{ ...of, kind: WITH_VALUES[of.kind] ?? of.kind }],
    begin: async (tensors, start) => {
      using numbers = await otherOf({ tensors }).cast(indexDtype);
      // -1 stays: there is no such row.
      using isNone = numbers.lt(0);
      using moved = numbers.add(start);
      return [await valueOf({ tensors }).clone(), await where(isNone, numbers, moved)];
    },
    finish: async (state) => {
      const found: Tensor[] = [];
      if (outputs.includes('value')) found.push(await valueOf(state).cast(dtype));
      if (outputs.includes('index')) found.push(await otherOf(state).clone());
      return found;
    },
  };
}

function indexedExtrema(of: Reduction, call: MergeCall): MergeRule {
  const isLeast = traitsOf(of.kind).extremum === 'least';
  return {
    ...withRowNumbers(of, call),
    merge: async (a, b) => {
      const [x, y] = [valueOf(a), valueOf(b)];
      // A NaN is better than any number, and the first row is the best of equals.
      using isBeyond = isLeast ? y.lt(x) : y.gt(x);
      using isNumber = x.eq(x);
      using isNaN = y.isNaN();
      using isFirstNaN = isNaN.logicalAnd(isNumber);
      using later = await isBeyond.logicalOr(isFirstNaN);
      return [await where(later, y, x), await where(later, otherOf(b), otherOf(a))];
    },
  };
}

/** Lists of K, the first list in front: the K best of both are found as those of a block are, so that they come in the same order. */
function severalExtrema(of: Reduction, call: MergeCall): MergeRule {
  const { k = 1 } = of;
  const { dim } = of.formula;
  const rule = withRowNumbers(of, call);
  const best = describe(rule.parts[0].kind, vij(0, dim), { axis: 1, k });
  const joined = async (a: Tensor, b: Tensor): Promise<Tensor> => {
    const lists = [a, b].map((one) => one.reshape([...one.shape.slice(0, -1), k, dim]));
    try {
      return await concat(lists, -2);
    } finally {
      for (const one of lists) one.dispose();
    }
  };
  return {
    ...rule,
    merge: async (a, b) => {
      using all = await joined(valueOf(a), valueOf(b));
      using numbers = await joined(otherOf(a), otherOf(b));
      const inputs = [pairInput(call.what, all, true, undefined)];
      const task = { what: call.what, reductions: [best] as const, inputs, names: undefined };
      const [found, at] = (await call.compute(task)) as [Tensor, Tensor<'int32'>];
      using places = at.reshape([...at.shape.slice(0, -1), k, dim]);
      at.dispose();
      using taken = await takeAlongAxis(numbers, places, -2);
      return [found, taken.reshape(found.shape)];
    },
  };
}

/** Some of the last axis. */
const columns = (x: Tensor, first: number, end: number): Tensor =>
  x.slice(...new Array<null>(x.rank - 1).fill(null), [first, end]);
