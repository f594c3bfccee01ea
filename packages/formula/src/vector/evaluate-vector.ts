import { assertVectorExpr } from './intern-vector.js';
import type { OptionNames } from '@mercer/options';
import { readOptions } from '../read-options.js';
import { FormulaError } from '../formula-error.js';
import { keptSizes, axesOf } from './contraction.js';
import { elementwiseFunction } from './elementwise/evaluate-elementwise.js';
import { postOrderVector } from './post-order-vector.js';
import type {
  Category,
  Combine,
  Contraction,
  Kind,
  NodeOfKind,
  VariableNode,
  VectorExpr,
} from './vector-expr.js';

/** The inputs by position, row-major: rows of i, rows of j, values of pairs (for each i those of every j), or the one row of a parameter. */
export type InputData = readonly (ArrayLike<number> | undefined)[];

/** Where a formula is evaluated. */
interface Point {
  readonly i: number;
  readonly j: number;
  /** Only where there are values of pairs. */
  readonly rowsJ: number | undefined;
  readonly data: InputData;
}

type Values = readonly Float64Array[];
type EvaluateRule<K extends Kind> = (
  node: NodeOfKind<K>,
  args: Values,
  point: Point,
) => Float64Array;

/** A vector by its components; `Float64Array.from` takes several times as long. */
function components(dim: number, component: (k: number) => number): Float64Array {
  const out = new Float64Array(dim);
  for (let k = 0; k < dim; k++) out[k] = component(k);
  return out;
}

/** The rule of an elementwise node, whose operation is looked up once. It gives the same array each time, with other numbers. */
function elementwiseRule(node: NodeOfKind<'elementwise'>): EvaluateRule<'elementwise'> {
  const f = elementwiseFunction(node);
  const { dim } = node;
  const strides = node.args.map((arg) => Number(arg.dim > 1));
  const at = new Array<number>(strides.length).fill(0);
  const out = new Float64Array(dim);
  return (_, args) => {
    for (let k = 0; k < dim; k++) {
      for (let n = 0; n < at.length; n++) at[n] = args[n]![k * strides[n]!]!;
      out[k] = f(at);
    }
    return out;
  };
}

/** The rule of a contraction, whose places are found once. */
function contractRule({ contraction }: NodeOfKind<'contract'>): EvaluateRule<'contract'> {
  const places = placesOf(contraction);
  const { size } = places;
  return (_, [f, g]) => {
    const out = new Float64Array(size);
    for (let k = 0; k < places.f.length; k++)
      out[places.out[k]!]! += f![places.f[k]!]! * g![places.g[k]!]!;
    return out;
  };
}

/** Float64 meaning of every other kind of node. */
const EVALUATE: { readonly [K in Exclude<Kind, 'elementwise' | 'contract'>]: EvaluateRule<K> } = {
  literal: ({ value }) => Float64Array.of(value),
  zero: ({ dim }) => new Float64Array(dim),
  variable: (node, _, point) => rowOf(node, ROW[node.category](point, node), point.data, true),
  index: ({ axis }, _, point) => Float64Array.of(point[axis]),
  components: ({ combine }, [x]) => Float64Array.of(COMBINE[combine](x!)),
  repeat: ({ dim }, [x]) => new Float64Array(dim).fill(x![0]!),
  slice: ({ dim, start, step }, [x]) => components(dim, (k) => x![start + k * step]!),
  place: ({ dim, start, step }, [x]) => {
    const out = new Float64Array(dim);
    for (const [k, value] of x!.entries()) out[start + k * step] = value;
    return out;
  },
  concat: ({ dim }, args) => {
    const out = new Float64Array(dim);
    let at = 0;
    for (const arg of args) {
      out.set(arg, at);
      at += arg.length;
    }
    return out;
  },
  interleave: ({ dim }, args) =>
    components(dim, (k) => args[k % args.length]![Math.floor(k / args.length)]!),
  oneHot: ({ dim }, [x]) => {
    const at = Math.floor(x![0]! + 0.5);
    const out = new Float64Array(dim);
    if (at >= 0 && at < dim) out[at] = 1;
    return out;
  },
  gather: ({ table }, [x], { data }) => rowOf(table, Math.floor(x![0]! + 0.5), data, false),
};

/** Which row of its data an input has at a pair. */
const ROW: {
  readonly [C in Category]: (point: Point, node: VariableNode) => number;
} = {
  i: ({ i }) => i,
  j: ({ j }) => j,
  parameter: () => 0,
  pair: ({ i, j, rowsJ }, { position }) => {
    if (rowsJ !== undefined && j < rowsJ) return i * rowsJ + j;
    throw new FormulaError(
      'INVALID_ARGUMENT',
      `cannot evaluate: input ${position} has values of pairs, rowsJ is ${rowsJ} and row j is ${j}. ` +
        `Pass as rowsJ how many rows j has.`,
    );
  },
};

function rowOf(node: VariableNode, row: number, data: InputData, mustExist: boolean): Float64Array {
  const values = data[node.position];
  const { dim } = node;
  if (values === undefined || values.length % dim !== 0) {
    const found = values === undefined ? 'no data' : `${values.length} numbers`;
    throw new FormulaError(
      'UNBOUND_VARIABLE',
      `cannot evaluate: input ${node.position} has dim ${dim} and got ${found}. ` +
        `Pass its rows one after the other, ${dim} numbers each.`,
    );
  }
  const rows = values.length / dim;
  if (row >= 0 && row < rows) {
    return components(dim, (k) => values[row * dim + k]!);
  }
  if (!mustExist) return new Float64Array(dim).fill(NaN);
  throw new FormulaError(
    'INVALID_ARGUMENT',
    `cannot evaluate: input ${node.position} has ${rows} row(s) and row ${row} is wanted. ` +
      `Rows count from 0.`,
  );
}

/** The first extremum by `better`; a NaN wins, the first one. */
function bestIndex(x: Float64Array, better: (a: number, b: number) => boolean): number {
  let best = 0;
  for (let k = 1; k < x.length && !Number.isNaN(x[best]); k++) {
    if (Number.isNaN(x[k]) || better(x[k]!, x[best]!)) best = k;
  }
  return best;
}

const COMBINE: { readonly [K in Combine]: (x: Float64Array) => number } = {
  sum: (x) => x.reduce((sum, value) => sum + value, 0),
  max: (x) => x[bestIndex(x, (a, b) => a > b)]!,
  min: (x) => x[bestIndex(x, (a, b) => a < b)]!,
  argmax: (x) => bestIndex(x, (a, b) => a > b),
  argmin: (x) => bestIndex(x, (a, b) => a < b),
};

/** Where the factors of each product of a contraction are, and what it is added to. */
function placesOf(c: Contraction): Record<'f' | 'g' | 'out', readonly number[]> & { size: number } {
  const { f: axesF, g: axesG, out: axesOut, sizes } = axesOf(c);
  const names = [...axesOut, ...axesF.filter((name) => axesG.includes(name))];
  const strides = (axes: readonly string[]): number[] =>
    names.map((name) => {
      const at = axes.indexOf(name);
      return at < 0 ? 0 : axes.slice(at + 1).reduce((p, axis) => p * sizes.get(axis)!, 1);
    });
  const [inF, inG, inOut] = [strides(axesF), strides(axesG), strides(axesOut)];
  const f: number[] = [];
  const g: number[] = [];
  const out: number[] = [];
  const walk = (axis: number, atF: number, atG: number, atOut: number): void => {
    if (axis === names.length) {
      f.push(atF);
      g.push(atG);
      out.push(atOut);
      return;
    }
    for (let k = 0; k < sizes.get(names[axis]!)!; k++) {
      walk(axis + 1, atF + k * inF[axis]!, atG + k * inG[axis]!, atOut + k * inOut[axis]!);
    }
  };
  walk(0, 0, 0, 0);
  return { f, g, out, size: keptSizes(c).reduce((p, n) => p * n, 1) };
}

/** A pair of rows. */
export interface RowPair {
  /** Default 0. */
  readonly i?: number;
  /** Default 0. */
  readonly j?: number;
  /** How many rows j has, which a formula with values of pairs (`Vij`) needs. */
  readonly rowsJ?: number;
}

const ROW_PAIR: OptionNames<RowPair> = { i: true, j: true, rowsJ: true };

/**
 * The value of a formula in float64 at row i and row j: `dim` numbers. `data[position]` holds the rows
 * of that input one after the other, for values of pairs those of (0, 0), (0, 1) and so on. The oracle for kernels: written for clearness, not for speed.
 *
 * Throws `FormulaError`: `UNBOUND_VARIABLE` for an input without data or with a broken row,
 * `INVALID_ARGUMENT` for a row that is not there, and for values of pairs without `rowsJ`.
 *
 * ```ts
 * import { evaluateVector, ops, vi, vj } from '@mercer/formula';
 * const d2 = ops.sqDist(vi(0, 2), vj(1, 2));
 * console.log(evaluateVector(d2, [[0, 0, 3, 4], [0, 1]], { i: 1, j: 0 })[0]); // 18
 * ```
 */
export function evaluateVector(root: VectorExpr, data: InputData, at?: RowPair): Float64Array {
  const { i = 0, j = 0, rowsJ } = readOptions('evaluateVector', at, ROW_PAIR);
  assertVectorExpr(root, 'evaluateVector');
  return vectorEvaluator(root)(data, i, j, rowsJ);
}

/** {@link evaluateVector} with the walk over the formula done once, for many rows. */
export function vectorEvaluator(
  root: VectorExpr,
): (data: InputData, i: number, j: number, rowsJ?: number) => Float64Array {
  assertVectorExpr(root, 'vectorEvaluator');
  const steps = stepsOf(root);
  return (data, i, j, rowsJ) => pairEvaluator(steps, data)(i, j, rowsJ);
}

/** {@link vectorEvaluator} over data that stay as they are: what reads neither row that is another than before is not computed again. */
export function pairsEvaluator(root: VectorExpr, data: InputData): PairEvaluator {
  return pairEvaluator(stepsOf(root), data);
}

type PairEvaluator = (i: number, j: number, rowsJ?: number) => Float64Array;

/** A node with its rule, its arguments by their steps, and the rows that it reads through them. */
interface Step {
  readonly node: VectorExpr;
  readonly rule: EvaluateRule<Kind>;
  readonly args: readonly number[];
  readonly readsI: boolean;
  readonly readsJ: boolean;
}

/** One untyped rule for all kinds: the kind chooses. */
function ruleOf(node: VectorExpr): EvaluateRule<Kind> {
  switch (node.kind) {
    case 'elementwise':
      return elementwiseRule(node) as EvaluateRule<Kind>;
    case 'contract':
      return contractRule(node) as EvaluateRule<Kind>;
    default:
      return EVALUATE[node.kind] as EvaluateRule<Kind>;
  }
}

function stepsOf(root: VectorExpr): readonly Step[] {
  const order = postOrderVector(root);
  const at = new Map(order.map((node, k) => [node, k]));
  const steps: Step[] = [];
  for (const node of order) {
    const args = node.args.map((arg) => at.get(arg)!);
    const side = node.kind === 'index' ? node.axis : node.kind === 'variable' && node.category;
    steps.push({
      node,
      rule: ruleOf(node),
      args,
      readsI: side === 'i' || side === 'pair' || args.some((arg) => steps[arg]!.readsI),
      readsJ: side === 'j' || side === 'pair' || args.some((arg) => steps[arg]!.readsJ),
    });
  }
  return steps;
}

function pairEvaluator(steps: readonly Step[], data: InputData): PairEvaluator {
  const values: Float64Array[] = [];
  const given = steps.map(({ args }): Float64Array[] => args.map(() => NOT_YET));
  let [lastI, lastJ] = [NaN, NaN];
  return (i, j, rowsJ) => {
    const point = { i, j, rowsJ, data };
    const [movesI, movesJ] = [i !== lastI, j !== lastJ];
    for (let k = 0; k < steps.length; k++) {
      const { node, rule, args, readsI, readsJ } = steps[k]!;
      if (k < values.length && !(readsI && movesI) && !(readsJ && movesJ)) continue;
      const own = given[k]!;
      for (let n = 0; n < own.length; n++) own[n] = values[args[n]!]!;
      values[k] = rule(node, own, point);
    }
    [lastI, lastJ] = [i, j];
    return values.at(-1)!.slice();
  };
}

const NOT_YET = new Float64Array(0);
