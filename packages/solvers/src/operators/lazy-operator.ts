import { indexI, substituteVector, vi } from '@mercer/formula';
import {
  lazyI,
  lazyJ,
  LazyTensor,
  rowNumberI,
  rowNumberJ,
  swapAxes,
  type ComputeOptions,
  type LazyDType,
  type MetRanges,
  type Ranges,
  type RangesOption,
  type ReduceOptions,
} from '@mercer/lazy';
import type { OptionNames } from '@mercer/options';
import { concat, device as deviceOf, gatherRows, MercerError, type Tensor } from '@mercer/tensor';
import {
  checkShardOptions,
  cutsRows,
  formatShape,
  readOptions,
  shardsOf,
} from '@mercer/tensor/operation';
import { LinearOperator } from './linear-operator.js';
import { checkDType } from './make-operator.js';
import type { OperatorDType, OperatorParts } from './operator-types.js';
import { onDevice, onHost } from './row-indices.js';

type Input = LazyTensor['inputs'][number];

/**
 * Options of `asOperator`, which its products take as reductions do: how sums are computed, which rows meet, on several devices, or within a
 * limit of memory.
 */
export type LazyOperatorOptions = ComputeOptions &
  Pick<ReduceOptions, 'ranges' | 'devices' | 'maxBytes'>;

/** Names of {@link LazyOperatorOptions}. */
export const LAZY_OPERATOR_OPTIONS: OptionNames<LazyOperatorOptions> = {
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  ranges: true,
  devices: true,
  maxBytes: true,
};

/** The options of products, and the others. */
export function productOptions<O extends LazyOperatorOptions>(
  given: O,
): readonly [LazyOperatorOptions, Omit<O, keyof LazyOperatorOptions>] {
  const { accumulate, sumScheme, fastMath, ranges, devices, maxBytes, ...rest } = given;
  return [{ accumulate, sumScheme, fastMath, ranges, devices, maxBytes }, rest];
}

/**
 * A symbolic matrix as an operator. Products are reductions, and nothing is stored.
 *
 * @throws MercerError SHAPE_MISMATCH for values of several components, or a batch; INVALID_ARGUMENT where an input is a placeholder, or an array and
 *   products are not cut into blocks
 */
export function lazyOperator<D extends LazyDType>(
  matrix: LazyTensor<D>,
  options?: LazyOperatorOptions,
): LinearOperator<D & OperatorDType> {
  const what = 'asOperator';
  return new LinearOperator(
    lazyParts(what, matrix, readOptions(what, options, LAZY_OPERATOR_OPTIONS)),
  );
}

/** What the operator of a symbolic matrix is made of. @throws as `lazyOperator` */
export function lazyParts<D extends LazyDType>(
  what: string,
  matrix: LazyTensor<D>,
  products: LazyOperatorOptions,
): OperatorParts<D & OperatorDType> {
  const { dim, batchShape, rowsI = 1, rowsJ = 1, formula } = matrix;
  if (dim !== 1 || batchShape.length > 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the symbolic matrix has shape ${formatShape(matrix.shape)}. An operator has one number for each pair, and no batch.`,
    );
  }
  const { ranges } = products;
  const isCut = cutsRows(products);
  const [first] = checkShardOptions(what, shardsOf(products)) ?? [];
  const device = first ?? matrix.device ?? deviceOf();
  const dtype: unknown = matrix.dtype ?? 'float32';
  checkDType(what, dtype);
  /** Places of the inputs that are tensors. */
  const places = [...matrix.inputs.entries()].flatMap(([at, one]) =>
    isTensorInput(what, one, isCut) ? [at] : [],
  );
  const parameters = places.map((at) => tensorOf(matrix.inputs[at] as Input));
  /** The matrix of other tensors. */
  const of = (tensors: readonly Tensor[]): LazyTensor => {
    if (tensors.every((one, at) => one === parameters[at])) return matrix;
    const inputs = [...matrix.inputs];
    for (const [at, place] of places.entries()) {
      const tensor = tensors[at] as Tensor;
      if (tensor === parameters[at]) continue;
      inputs[place] = { ...(inputs[place] as Input), source: { kind: 'tensor', tensor } };
    }
    return new LazyTensor(what, { formula, inputs });
  };
  // what is all there needs no products: that of the diagonal is a sum of one number
  const isWhole =
    ranges === undefined &&
    places.length === matrix.inputs.length &&
    parameters.every((one) => one.device === device);
  return {
    form: {
      shape: [rowsI, rowsJ],
      dtype: dtype as D & OperatorDType,
      device,
      // Blocks are brought and merged by calls of their own.
      isCapturable: !isCut,
    },
    parameters,
    rules: {
      matvec: (v, tensors) => times(of(tensors), v, products),
      rmatvec: transposedProduct(of, products),
      diagonal:
        rowsI === rowsJ
          ? async (tensors) => {
              const own = of(tensors);
              using found = await (isWhole
                ? own.diag()
                : rowNumberI().eq(rowNumberJ()).where(own, 0).sum('j', products));
              return found.reshape([rowsI]);
            }
          : undefined,
      ...(isWhole && {
        dense: async (tensors) => {
          using found = await of(tensors).toDense();
          return found.reshape([rowsI, rowsJ]);
        },
        rows: async (indices, tensors) => {
          const whole = of(tensors);
          if (!whole.inputs.every(isGathered)) return await oneByOne(whole, await onHost(indices));
          return await onDevice(indices, { device }, (at) => gathered(whole, at));
        },
      }),
    },
  };
}

/** The matrix times columns (N, K), which may lie on another device than its inputs. */
function times(matrix: LazyTensor, v: Tensor, products: LazyOperatorOptions): PromiseLike<Tensor> {
  const columns = lazyJ({ position: 0, dim: v.shape[1] as number });
  return matrix.mul(columns).reduction('Sum', 'j').call([v], products);
}

/** Its transpose times columns; undefined where ranges are those of one direction. */
function transposedProduct(
  of: (tensors: readonly Tensor[]) => LazyTensor,
  { ranges, ...products }: LazyOperatorOptions,
): OperatorParts['rules']['rmatvec'] {
  if (ranges !== undefined && !hasBothDirections(ranges)) return undefined;
  const turned = { ...products, ranges: ranges && swapAxes(ranges) };
  return (v, tensors) => times(of(tensors).t(), v, turned);
}

/** Products refuse what are no ranges. */
const hasBothDirections = (ranges: RangesOption): ranges is Ranges<MetRanges> =>
  (Object(ranges) as Partial<Ranges<MetRanges>>).rangesJ !== undefined;

const tensorOf = ({ source }: Input): Tensor => {
  if (source.kind === 'tensor') return source.tensor;
  throw new Error('the input is a tensor');
};

/** Whether an input is a tensor; arrays are brought with the blocks that are cut of them. @throws MercerError INVALID_ARGUMENT */
function isTensorInput(what: string, { source, name }: Input, isCut: boolean): boolean {
  if (source.kind === 'tensor') return true;
  if (source.kind === 'data' && isCut) return false;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the input ${name ?? ''} is ${source.kind === 'data' ? 'an array of the host' : 'a placeholder'}. Make the symbolic matrix of tensors${source.kind === 'data' ? ', or pass devices or maxBytes' : ''}.`,
  );
}

/** Whether the rows of an input of i are those of its tensor. */
const isGathered = ({ category, steps }: Input): boolean =>
  category === 'j' ||
  category === 'parameter' ||
  steps.every((step) => step.op === 'insert' && step.axis === -1);

/** Some rows, (count, columns): the matrix of the inputs' rows of these numbers. */
async function gathered(matrix: LazyTensor, at: Tensor<'int32' | 'int64'>): Promise<Tensor> {
  const { formula, dtype, inputs, rowsJ = 1 } = matrix;
  const made: Tensor[] = [];
  try {
    const ofRows = async (input: Input): Promise<Input> => {
      const { category, source, extent } = input;
      if (category === 'j' || category === 'parameter' || source.kind !== 'tensor') return input;
      const rows = await gatherRows(source.tensor, at);
      made.push(rows);
      return {
        ...input,
        source: { kind: 'tensor', tensor: rows },
        extent: extent && { ...extent, rows: at.size },
      };
    };
    const some: Input[] = [];
    for (const one of inputs) some.push(await ofRows(one));
    const place = some.length;
    const numbered = substituteVector(formula, new Map([[indexI, vi(place, 1)]]));
    if (numbered !== formula) {
      using numbers: Tensor = await at.cast(dtype as 'float64');
      const column = numbers.reshape([at.size, 1]) as Tensor<'float64'>;
      made.push(column);
      some.push(...lazyI(column).inputs);
    }
    const rows = new LazyTensor('rows', { formula: numbered, inputs: some });
    using found = await rows.toDense();
    return found.reshape([at.size, rowsJ]);
  } finally {
    for (const one of made) one.dispose();
  }
}

/** The same of inputs of i that are views of their tensors. */
async function oneByOne(matrix: LazyTensor, indices: readonly number[]): Promise<Tensor> {
  const { rowsJ = 1 } = matrix;
  const rows: Tensor[] = [];
  try {
    for (const row of indices) {
      using one = await matrix.rows([row, row + 1]).toDense();
      rows.push(one.reshape([1, rowsJ]));
    }
    return await concat(rows as unknown as readonly [Tensor, ...Tensor[]], 0);
  } finally {
    for (const one of rows) one.dispose();
  }
}
