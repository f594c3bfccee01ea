import { indexI, substituteVector, vi } from '@mercer/formula';
import {
  lazyI,
  LazyTensor,
  type ComputeOptions,
  type LazyDType,
  type ShardOptions,
} from '@mercer/lazy';
import type { OptionNames } from '@mercer/options';
import { concat, gatherRows, MercerError, type Tensor } from '@mercer/tensor';
import { formatShape, readOptions } from '@mercer/tensor/operation';
import { LinearOperator } from './linear-operator.js';
import { checkDType } from './make-operator.js';
import type { OperatorDType, OperatorParts } from './operator-types.js';
import { onDevice, onHost } from './row-indices.js';

type Input = LazyTensor['inputs'][number];

/** Options of `asOperator`, which its products take as reductions do: how sums are computed, on several devices, or within a limit of memory. */
export type LazyOperatorOptions = ComputeOptions & Pick<ShardOptions, 'devices' | 'maxBytes'>;

/** Names of {@link LazyOperatorOptions}. */
export const LAZY_OPERATOR_OPTIONS: OptionNames<LazyOperatorOptions> = {
  accumulate: true,
  sumScheme: true,
  fastMath: true,
  devices: true,
  maxBytes: true,
};

/**
 * A symbolic matrix as an operator. Products are reductions, and nothing is stored.
 *
 * @throws MercerError SHAPE_MISMATCH for values of several components, or a batch; INVALID_ARGUMENT where an input is a placeholder or an array
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
  given: LazyOperatorOptions,
): OperatorParts<D & OperatorDType> {
  const products = Object.values(given).some((one) => one !== undefined) ? given : undefined;
  const { dim, batchShape, rowsI = 1, rowsJ = 1, dtype, device, formula } = matrix;
  if (dim !== 1 || batchShape.length > 0) {
    throw new MercerError(
      'SHAPE_MISMATCH',
      `${what}: the symbolic matrix has shape ${formatShape(matrix.shape)}. An operator has one number for each pair, and no batch.`,
    );
  }
  const parameters = matrix.inputs.map((input) => tensorOf(what, input));
  checkDType(what, dtype);
  if (device === undefined) throw new Error('tensors have a device');
  /** The matrix of other tensors. */
  const of = (tensors: readonly Tensor[]): LazyTensor => {
    if (tensors.every((one, at) => one === parameters[at])) return matrix;
    const inputs = matrix.inputs.map((input, at): Input => {
      const tensor = tensors[at] as Tensor;
      return tensor === parameters[at] ? input : { ...input, source: { kind: 'tensor', tensor } };
    });
    return new LazyTensor(what, { formula, inputs });
  };
  return {
    form: {
      shape: [rowsI, rowsJ],
      dtype: dtype,
      device,
      // Blocks are brought and merged by calls of their own.
      isCapturable: given.devices === undefined && given.maxBytes === undefined,
    },
    parameters,
    rules: {
      matvec: (v, tensors) => of(tensors).matmul(v, products),
      rmatvec: (v, tensors) => of(tensors).t().matmul(v, products),
      diagonal:
        rowsI === rowsJ
          ? async (tensors) => {
              using found = await of(tensors).diag();
              return found.reshape([rowsI]);
            }
          : undefined,
      dense: async (tensors) => {
        using found = await of(tensors).toDense();
        return found.reshape([rowsI, rowsJ]);
      },
      rows: async (indices, tensors) => {
        const whole = of(tensors);
        if (!whole.inputs.every(isGathered)) return await oneByOne(whole, await onHost(indices));
        return await onDevice(indices, { device }, (at) => gathered(whole, at));
      },
    },
  };
}

/** @throws MercerError INVALID_ARGUMENT */
function tensorOf(what: string, { source, name }: Input): Tensor {
  if (source.kind === 'tensor') return source.tensor;
  throw new MercerError(
    'INVALID_ARGUMENT',
    `${what}: the input ${name ?? ''} is ${source.kind === 'data' ? 'an array of the host' : 'a placeholder'}. Make the symbolic matrix of tensors.`,
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
