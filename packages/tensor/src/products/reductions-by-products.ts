import {
  innerForm,
  inputsOf,
  postOrderVector,
  substituteVector,
  traitsOf,
  vij,
  type Reduction,
  type VariableNode,
  type VectorExpr,
} from '@mercer/formula/plan';
import {
  emitPairwise,
  normExpressions,
  planPairwise,
  predictReductionByProducts,
  type PairwiseProblem,
  type ProductsConfig,
} from '@mercer/kernels';
import { formulasOf, type ReductionsCall } from '../map-reduce/reductions-call.js';
import type { PairInput } from '../map-reduce/pair-inputs.js';
import { pointerAt, type CallSteps, type CallView } from '../operation/call-steps.js';
import { availableBytes } from '../operations.js';
import { addInnerProducts, addSplitRows, paddedRows, type ProductRows } from './add-products.js';
import { productsOf } from './products-of.js';

/** Squared distances of a block at most, 400 MB, and the share of the memory that is left. */
const MOST_BLOCK = { numbers: 1e8, share: 0.25 } as const;
/** Kept rows of a block are a multiple of so many, and there is room for these or for all. */
const [ROW_UNIT, LEAST_ROWS] = [64, 512];

const { inner, outer, reduce } = normExpressions(2, { skipEpilogue: true });

/** Reductions that read squared distances as values of pairs. */
interface Found {
  readonly reductions: readonly Reduction[];
  /** Places of the rows in the inputs. */
  readonly kept: number;
  readonly reduced: number;
  /** That of the squared distances. */
  readonly place: number;
  readonly dim: number;
}

/**
 * The reductions over blocks of kept rows where their formulas read long vectors through |x - y|^2 alone, and products on tensor cores
 * are predicted to be quicker: for each block its squared distances, in scratch memory, and the reductions that read them as values
 * of pairs. Nothing is added, and the answer is false, where another way is taken.
 *
 * @param add adds the reductions of a block
 */
export function addByProducts(
  steps: CallSteps,
  call: ReductionsCall,
  add: (block: ReductionsCall) => void,
): boolean {
  const { device } = steps;
  const { limits } = device;
  const { sizes, results, inputs, ranges, what } = call;
  if (limits.kind !== 'cuda' || sizes.dtype !== 'float32' || sizes.batch !== 1) return false;
  if (ranges !== undefined || results.some(({ index }) => index !== undefined)) return false;
  const found = squaredDistances(call);
  if (found === undefined) return false;
  const { axis } = call.reductions[0];
  const [keptRows, reducedRows] =
    axis === 1 ? [sizes.rowsI, sizes.rowsJ] : [sizes.rowsJ, sizes.rowsI];
  const [x, y] = [rowsOf(inputs[found.kept], keptRows), rowsOf(inputs[found.reduced], reducedRows)];
  if (x === undefined || y === undefined) return false;
  const problem: PairwiseProblem = {
    inner,
    outer,
    reduce,
    dtype: 'float32',
    p: 2,
    m: keptRows,
    n: reducedRows,
    k: found.dim,
    batch: 1,
    layoutA: 'row',
    layoutB: 'row',
    layoutOut: 'row',
    // where a tensor begins is not known here
    alignedA: false,
    alignedB: false,
    alignedOut: true,
  };
  const config = productsOf(device, problem);
  if (config === undefined || !predictReductionByProducts(problem, limits)) return false;
  const ldo = paddedRows(reducedRows);
  const numbers = Math.min(MOST_BLOCK.numbers, (MOST_BLOCK.share * availableBytes(device)) / 4);
  const mostRows = Math.floor(numbers / ldo);
  if (mostRows < Math.min(keptRows, LEAST_ROWS)) return false;
  const blockRows = rowsOfBlock(keptRows, mostRows);
  const split = addSplitRows(steps, { a: x, b: y }, found.dim, config);
  const distances = steps.scratchMemory({ shape: [blockRows, ldo], dtype: 'float32' });
  for (let first = 0; first < keptRows; first += blockRows) {
    const count = Math.min(blockRows, keptRows - first);
    addInnerProducts(steps, {
      what,
      config,
      ...split,
      first,
      count,
      out: distances,
      columns: ldo,
      ldo,
    });
    addDistances(
      steps,
      { ...problem, m: count, products: config },
      {
        x,
        y,
        first,
        ldo,
        out: distances,
        normsA: from(split.a.norms, first),
        normsB: split.b.norms,
      },
    );
    add(blockOf(call, found, { first, count, distances, ldo }));
  }
  return true;
}

/** Rewrites the reductions, or undefined where they need the vectors, or the numbers of rows, themselves. */
function squaredDistances({ reductions, inputs }: ReductionsCall): Found | undefined {
  if (reductions.some(({ kind }) => traitsOf(kind).takesK)) return undefined;
  const roots = formulasOf(reductions);
  let node: VectorExpr | undefined;
  for (const one of postOrderVector(...roots)) {
    if (one.kind === 'index' || one.kind === 'gather') return undefined;
    if (innerForm(one)?.form !== 'squaredDistance') continue;
    if (node !== undefined) return undefined;
    node = one;
  }
  const [a, b] = node === undefined ? [] : (innerForm(node)?.args ?? []);
  if (node === undefined || !isRows(a) || !isRows(b) || a.dim !== b.dim) return undefined;
  const { axis } = reductions[0];
  const keptSide = axis === 1 ? 'i' : 'j';
  const [kept, reduced] = a.category === keptSide ? [a, b] : [b, a];
  if (kept.category !== keptSide || reduced.category === keptSide) return undefined;
  const place = inputs.length;
  const replacements = new Map<VectorExpr, VectorExpr>([[node, vij(place, 1)]]);
  const rewritten = reductions.map((one): Reduction => ({
    ...one,
    formula: substituteVector(one.formula, replacements),
    ...(one.weight && { weight: substituteVector(one.weight, replacements) }),
  }));
  const left = inputsOf(...formulasOf(rewritten));
  const isLeft = left.some(({ position }) => position === a.position || position === b.position);
  if (isLeft) return undefined;
  const places = { kept: kept.position, reduced: reduced.position };
  return { reductions: rewritten, ...places, place, dim: a.dim };
}

const isRows = (node: VectorExpr | undefined): node is VariableNode =>
  node?.kind === 'variable' && (node.category === 'i' || node.category === 'j');

function rowsOf(input: PairInput | undefined, rows: number): ProductRows | undefined {
  if (input?.view.dtype !== 'float32') return undefined;
  return { view: input.view, rows, leadingStride: input.operand.rowStride };
}

/** Kept rows of a block: as many as the block holds, in blocks that are about as large as each other. */
function rowsOfBlock(keptRows: number, most: number): number {
  if (keptRows <= most) return keptRows;
  const blocks = Math.ceil(keptRows / most);
  return Math.min(most, ROW_UNIT * Math.ceil(keptRows / blocks / ROW_UNIT));
}

const from = (view: CallView, elements: number): CallView => ({
  ...view,
  offset: view.offset + elements,
});

/** The second phase of a block of squared distances. */
function addDistances(
  steps: CallSteps,
  problem: PairwiseProblem & { readonly products: ProductsConfig },
  rows: {
    readonly x: ProductRows;
    readonly y: ProductRows;
    readonly first: number;
    readonly out: CallView;
    readonly ldo: number;
    readonly normsA: CallView;
    readonly normsB: CallView;
  },
): void {
  const { m, n, k } = problem;
  const { x, y, first, out, ldo, normsA, normsB } = rows;
  steps.addProgram(
    {
      key: `squared distances by products ${k}`,
      plan: (limits) => planPairwise(problem, limits),
      emit: emitPairwise,
    },
    {
      values: m * n,
      pointers: {
        a: pointerAt(x.view, first * x.leadingStride),
        b: pointerAt(y.view),
        out: pointerAt(out),
        normsA: pointerAt(normsA),
        normsB: pointerAt(normsB),
      },
      scalars: {
        m,
        n,
        k,
        batch: 1,
        lda: x.leadingStride,
        ldb: y.leadingStride,
        ldo,
        p: 2,
        batchStrideA: 0,
        batchStrideB: 0,
        batchStrideOut: 0,
      },
    },
  );
}

/** The reductions of some of the kept rows, which read the block. */
function blockOf(
  call: ReductionsCall,
  { reductions, kept, reduced, place }: Found,
  block: {
    readonly first: number;
    readonly count: number;
    readonly distances: CallView;
    readonly ldo: number;
  },
): ReductionsCall {
  const { first, count, distances, ldo } = block;
  const { axis } = call.reductions[0];
  const categories = new Map(
    inputsOf(...formulasOf(call.reductions)).map(({ position, category }) => [position, category]),
  );
  const inputs = call.inputs.map((input, at): PairInput | undefined => {
    if (input === undefined || at === kept || at === reduced) return undefined;
    const { view, operand } = input;
    const category = categories.get(at);
    const step =
      category === 'pair'
        ? ((axis === 1 ? operand.rowStride : operand.columnStride) ?? 0)
        : category === (axis === 1 ? 'i' : 'j')
          ? operand.rowStride
          : 0;
    return { view: from(view, first * step), operand };
  });
  inputs[place] = {
    view: distances,
    operand: {
      rowStride: axis === 1 ? ldo : 1,
      columnStride: axis === 1 ? 1 : ldo,
      batchStride: 0,
    },
  };
  const results = call.results.map(({ value, index }) => ({
    value: value && from(value, first * (value.strides.at(call.sizes.batchShape.length) ?? 0)),
    index,
  }));
  return {
    ...call,
    reductions: reductions as ReductionsCall['reductions'],
    sizes: { ...call.sizes, ...(axis === 1 ? { rowsI: count } : { rowsJ: count }) },
    inputs,
    results,
    products: false,
    // its own kernels are told, one after the other
    reductionOf: [],
  };
}
