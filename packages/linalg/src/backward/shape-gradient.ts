import { div, lt, mul, add, select, variable } from '@mercer/formula';
import { map, sumTo, type WorkOptions, type Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';

const x = variable('x');
const turned = variable('turned');
const row = variable('row');
const column = variable('column');

/** Positions along the last two axes. */
export const POSITIONS = { row: -2, column: -1 } as const;

/** The sum of a gradient over the axes along which its input was broadcast. Takes the gradient over. */
export async function summedTo<D extends LinalgDType>(
  gradient: Tensor<D>,
  shape: readonly number[],
  within: WorkOptions,
): Promise<Tensor<D>> {
  using whole = gradient;
  return await sumTo(whole, shape, within);
}

const SYMMETRIC_PART = mul(0.5, add(x, turned));

/** `(x + x^T) / 2`, exactly symmetric. */
export async function symmetricPart<D extends LinalgDType>(
  matrices: Tensor<D>,
  within: WorkOptions,
): Promise<Tensor<D>> {
  using transposed = matrices.transpose();
  return await map(
    SYMMETRIC_PART,
    { x: matrices, turned: transposed },
    { dtype: matrices.dtype, ...within },
  );
}

const TRIANGLES = {
  lower: select(lt(row, column), 0, x),
  upper: select(lt(column, row), 0, x),
  strictLower: select(lt(column, row), x, 0),
  strictUpper: select(lt(row, column), x, 0),
  /** The lower triangle with half of the diagonal. */
  halfLower: select(lt(row, column), 0, select(lt(column, row), x, div(x, 2))),
};

/** A triangle of matrices with zeros elsewhere, written over them. */
export async function keepTriangle<D extends LinalgDType>(
  matrices: Tensor<D>,
  triangle: keyof typeof TRIANGLES,
  within: WorkOptions,
): Promise<void> {
  await map(TRIANGLES[triangle], { x: matrices }, { out: matrices, indices: POSITIONS, ...within });
}
