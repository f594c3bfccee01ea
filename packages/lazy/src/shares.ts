import {
  dependences,
  hasGathers,
  pairGradientSteps,
  postOrderVector,
  reduction as describe,
  reductionGradientSteps,
  type Reduction,
  type SavedResults,
  type Steps,
  type VectorExpr,
} from '@mercer/formula/plan';
import { formulasOf } from '@mercer/tensor/operation';
import { isSameData, nodeAt, type Input } from './input.js';
import { replaced, type Task } from './task.js';

type GatherNode = Extract<VectorExpr, { kind: 'gather' }>;

/** A part of a gradient by a variable, as a sum. */
export interface Share {
  readonly reduction: Reduction;
  /**
   * To which rows of the variable the rows of the sum are added; undefined where each is that of the row itself. 'pairs' where
   * the terms of the sum are those of the pairs themselves, and are not added up.
   */
  readonly to: RowIndex | 'pairs' | undefined;
}

/** Numbers of rows of a table. */
export interface RowIndex {
  /** Of dim 1, before it is rounded. */
  readonly index: VectorExpr;
  /** 'pair' where it changes with both sides: nothing is summed then before rows are added up. */
  readonly follows: 'i' | 'j' | 'pair';
}

/** A share of rows by index. */
export type RowShare = Share & { readonly to: RowIndex };

/** The row numbers of a share that has some. */
export const rowIndex = ({ to }: Share): RowIndex | undefined => (to === 'pairs' ? undefined : to);

/** Whether a share has a value for every pair, which no sum over a side is. */
export const isOfPairs = (share: Share): boolean =>
  share.to === 'pairs' || rowIndex(share)?.follows === 'pair';

/** What is differentiated, and by which of its inputs. */
export interface ShareProblem extends Pick<Task, 'reduction' | 'inputs'> {
  readonly place: number;
  readonly seed: VectorExpr | number;
  readonly saved: SavedResults;
  /** A position that no input has. */
  readonly free: number;
}

/**
 * The gradient by an input in steps, as sums: one by its own row, and one by each row that the formula takes of it by index, which is a
 * variable of its own for the time being.
 *
 * @throws FormulaError NOT_DIFFERENTIABLE
 */
export function* sharesOf({ free, ...problem }: ShareProblem): Steps<readonly Share[]> {
  const { reduction, inputs, place, seed, saved } = problem;
  const rows = gathersOf(problem).map((gather, at) => {
    const follows = followed(gather, reduction);
    const side = follows === 'pair' ? (reduction.axis === 1 ? 'i' : 'j') : follows;
    return { gather, follows, row: nodeAt({ category: side, dim: gather.dim }, free + at) };
  });
  const apart = replaced(reduction, new Map(rows.map(({ gather, row }) => [gather, row])));
  const back = new Map<VectorExpr, VectorExpr>(rows.map(({ gather, row }) => [row, gather]));
  function* gradientBy(by: ReturnType<typeof nodeAt>): Steps<Reduction> {
    const { reduction: gradient } = yield* reductionGradientSteps(apart, by, seed, saved);
    return replaced(gradient, back);
  }
  const input = inputs[place];
  if (input === undefined) throw new Error('the place of an input is one of the list');
  const own = nodeAt(input, place);
  if (input.category === 'pair') {
    const formula = yield* pairGradientSteps(reduction, own, seed, saved);
    return [{ reduction: describe('Sum', formula, { axis: reduction.axis }), to: 'pairs' }];
  }
  const hasOwn = rows.length === 0 || postOrderVector(...formulasOf([apart])).includes(own);
  const shares: Share[] = hasOwn ? [{ reduction: yield* gradientBy(own), to: undefined }] : [];
  for (const { gather, follows, row } of rows) {
    const to = { index: gather.args[0] as VectorExpr, follows };
    shares.push({ reduction: yield* gradientBy(row), to });
  }
  return shares;
}

/** The rows that a reduction takes by index of the input at a place. */
export function gathersOf({
  reduction,
  inputs,
  place,
}: Pick<ShareProblem, 'reduction' | 'inputs' | 'place'>): readonly GatherNode[] {
  if (!formulasOf([reduction]).some(hasGathers)) return [];
  const tables = tablesOf(inputs, place);
  return postOrderVector(...formulasOf([reduction])).filter(
    (node): node is GatherNode => node.kind === 'gather' && tables.has(node.table.position),
  );
}

/**
 * The places of the tables whose rows are those of the input at a place: of the same data. Where several variables have
 * that data, the tables belong to the first, so that all gradients add up to the whole.
 */
function tablesOf(inputs: readonly Input[], place: number): ReadonlySet<number> {
  const by = inputs[place];
  const isWith = (one: Input): boolean => by !== undefined && isSameData(one, by);
  const first = inputs.findIndex((one) => !one.isTable && isWith(one));
  if (first >= 0 && first !== place) return new Set();
  return new Set([...inputs.keys()].filter((at) => inputs[at]?.isTable && isWith(inputs[at])));
}

/** What a row by index changes with; where it is one for all, the kept side. */
function followed(gather: GatherNode, { axis }: Reduction): RowIndex['follows'] {
  const of = dependences(gather).get(gather);
  if (of === undefined || of === 'none') return axis === 1 ? 'i' : 'j';
  return of;
}
