import {
  inputsOf,
  ops,
  pairGradientSteps,
  pm,
  reduction,
  reductionGradientSteps,
  substituteVector,
  vi,
  vj,
  type Reduction,
  type Steps,
  type VariableNode,
  type VectorExpr,
} from '@mercer/formula/plan';
import type { OutOption, Pending, Tensor } from '@mercer/tensor';
import {
  addReductions,
  aligned,
  CallSteps,
  commonDevice,
  coreOf,
  differentiable,
  inSlices,
  Operation,
  OUT_OPTION,
  pairOperand,
  pending,
  promisesTraced,
  sidesOf,
  STREAM_OPTION,
  summedTo,
  type KnownValue,
  type PairSizes,
  type Share,
  type Value,
} from '@mercer/tensor/operation';

/** The tensors of a formula by place: rows (..batch, rows, dim), parameters (..batch, 1, dim), values of pairs (..batch, M, N, dim); undefined where it reads none. */
export type PairTensors = readonly (Tensor | undefined)[];

/** What sums over pairs and their derivatives have in common. */
export interface PairProblem {
  readonly what: string;
  readonly sizes: PairSizes;
  /** Not 0 at the pairs whose terms have no derivative: it counts as 0 there. Undefined where all have. */
  readonly kink: VectorExpr | undefined;
}

type Arguments = readonly [problem: PairProblem, sum: Reduction, tensors: PairTensors];

const OPTIONS = { ...OUT_OPTION, ...STREAM_OPTION };

const operation = new Operation<Arguments, OutOption>({
  what: ([{ what }]) => what,
  options: OPTIONS,
  freeOptions: OPTIONS,
  identify: ([, { formula }, given]) => ({
    key: undefined,
    tensors: {
      inputs: inputsOf(formula).map(({ position }) => given[position] as Tensor),
      outs: [undefined],
    },
  }),
  plan: ([{ what, sizes }, sum, given]) => {
    const read = inputsOf(sum.formula);
    const inputs = read.map(({ position }) => given[position] as Tensor);
    const tensors = { inputs, outs: [undefined] };
    const steps = new CallSteps(coreOf(commonDevice(inputs, what)), tensors);
    const bound = read.map(({ category }, at) => {
      const axes = category === 'pair' ? 3 : 2;
      const operand = (one: Parameters<typeof pairOperand>[0]) => pairOperand(one, sizes, axes);
      return steps.readable(steps.input(at), operand, sizes.batchShape, undefined, axes);
    });
    const byPlace: ((typeof bound)[number] | undefined)[] = [];
    for (const [at, { position }] of read.entries()) byPlace[position] = bound[at];
    const { keptRows } = sidesOf(sum, sizes);
    const shape = [...sizes.batchShape, keptRows, sum.formula.dim];
    const value = steps.rowMajorResult({ shape, dtype: sizes.dtype });
    if (!shape.includes(0)) {
      addReductions(steps, {
        what,
        reductions: [sum],
        sizes,
        inputs: Array.from(byPlace),
        results: [{ value, index: undefined }],
        reductionOf: [0],
        accumulate: undefined,
        sumScheme: undefined,
        stream: undefined,
        ranges: undefined,
        refused: (error) => error,
      });
    }
    return { tensors, steps, holds: [sum] };
  },
});

/** The sum of a formula over one side of the pairs of rows, (..batch, kept rows, dim), differentiated like every operation. */
export function pairSum(
  problem: PairProblem,
  sum: Reduction,
  tensors: PairTensors,
): Pending<Tensor> {
  const call = differentiable<
    (given: PairTensors) => Pending<Tensor>,
    readonly [given: PairTensors]
  >(
    problem.what,
    (given) => operation.one([problem, sum, given], undefined),
    {
      vjp: (g, { args: [given] }) => [pairSumShares(problem, sum, given, g)],
    },
    ({ args: [given], mapped: [isMapped], size }) =>
      pairSum(
        overExamples(problem, size),
        sum,
        alignedTo(problem, sum, given, isMapped as readonly boolean[]),
      ),
    'one call',
  );
  const read = new Set(inputsOf(sum.formula).map(({ position }) => position));
  return call(tensors.map((one, at) => (read.has(at) ? one : undefined)));
}

/** A problem with one batch axis more in front. */
const overExamples = ({ sizes, ...rest }: PairProblem, size: number): PairProblem => ({
  ...rest,
  sizes: {
    ...sizes,
    batch: size * sizes.batch,
    batchShape: [size, ...sizes.batchShape],
  },
});

/** Tensors whose mapped axis stands in front of all batch axes. */
function alignedTo(
  { sizes: { batchShape } }: PairProblem,
  sum: Reduction,
  tensors: PairTensors,
  isMapped: readonly boolean[],
): PairTensors {
  const given = [...tensors];
  for (const { position, category } of inputsOf(sum.formula)) {
    const rank = batchShape.length + (category === 'pair' ? 3 : 2);
    const one = given[position] as KnownValue | undefined;
    if (one !== undefined) given[position] = aligned(one, isMapped[position], rank) as Tensor;
  }
  return given;
}

/** The gradients of `sum(cotangent * pairSum(sum, tensors))` by the tensors. */
export function pairSumShares(
  problem: PairProblem,
  sum: Reduction,
  tensors: PairTensors,
  cotangent: Value,
): Share[] {
  const place = tensors.length;
  const kept = sum.axis === 1 ? vi : vj;
  const seed = kept(place, sum.formula.dim);
  const nodes = new Map(inputsOf(sum.formula).map((node) => [node.position, node]));
  const { kink } = problem;
  const smooth = (formula: VectorExpr): VectorExpr =>
    kink === undefined ? formula : ops.where(kink, 0, formula);
  const gradientBy = async (x: Tensor, node: VariableNode): Promise<Tensor | undefined> => {
    const all = [...tensors, await cotangent];
    const isPair = node.category === 'pair';
    const steps = isPair
      ? pairGradientSteps(sum, node, seed, {})
      : gradientSteps(reductionGradientSteps(sum, node, seed, {}));
    const found = await inSlices<VectorExpr | Reduction>(steps, undefined);
    const formula = 'formula' in found ? found.formula : found;
    // the seed is a factor of what is not 0
    if (inputsOf(formula).length === 0) return undefined;
    const whole = await ('formula' in found
      ? pairSum(problem, { ...found, formula: smooth(formula) }, all)
      : densePairs(problem, smooth(formula), all));
    return await summedTo(whole, whole.shape, x.shape);
  };
  return tensors.map((x, at): Share => {
    const node = nodes.get(at);
    if (x === undefined || node === undefined) return undefined;
    return () => promisesTraced(pending(gradientBy(x, node))) as never;
  });
}

function* gradientSteps(steps: Steps<{ readonly reduction: Reduction }>): Steps<Reduction> {
  return (yield* steps).reduction;
}

/** The values of a formula at all pairs, (..batch, M, N, dim): a sum over one row of i, with the rows of i as the last batch axis. */
async function densePairs(
  { what, sizes, kink }: PairProblem,
  formula: VectorExpr,
  tensors: PairTensors,
): Promise<Tensor> {
  const moved = new Map<VectorExpr, VectorExpr>();
  const others = [...tensors];
  for (const node of inputsOf(formula)) {
    const { position, category, dim } = node;
    if (category === 'pair') moved.set(node, vj(position, dim));
    else {
      if (category === 'i') moved.set(node, pm(position, dim));
      const x = tensors[position] as Tensor;
      const [rows = 1] = x.shape.slice(-2);
      const own = category === 'i' ? [rows, 1, dim] : [1, rows, dim];
      others[position] = (await x.contiguous()).reshape([...x.shape.slice(0, -2), ...own]);
    }
  }
  const { rowsI, batch, batchShape } = sizes;
  const problem = {
    what,
    sizes: { ...sizes, rowsI: 1, batch: batch * rowsI, batchShape: [...batchShape, rowsI] },
    kink: kink && substituteVector(kink, moved),
  };
  const sum = reduction('Sum', substituteVector(formula, moved), { axis: 0 });
  return pairSum(problem, sum, others);
}
