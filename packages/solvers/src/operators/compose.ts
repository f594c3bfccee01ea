import { concat, eye, type Pending, type Tensor } from '@mercer/tensor';
import type { Operand, OperatorDType, OperatorForm, OperatorParts } from './operator-types.js';
import { unitVectors } from './row-indices.js';

/** The operators of a composition as rules see them: with other tensors, where it is differentiated. */
type Rebound = (parameters: readonly Tensor[]) => readonly Operand[];

/** The tensors of several operators in one list, and the operators of such a list. */
function joined<D extends OperatorDType>(
  operands: readonly Operand<D>[],
): {
  readonly parameters: readonly Tensor[];
  readonly rebound: Rebound;
  /** What is the same for all of them. */
  readonly nature: Pick<OperatorForm, 'isCapturable' | 'isForeign'>;
} {
  const parameters = operands.flatMap((one) => one.parameters);
  const rebound: Rebound = (given) => {
    let at = 0;
    return operands.map((one) => {
      const own = given.slice(at, (at += one.parameters.length));
      return one.withParameters(own);
    });
  };
  const nature = {
    isCapturable: operands.every((one) => one.isCapturable),
    isForeign: operands.some((one) => one.isForeign),
  };
  return { parameters, rebound, nature };
}

/** The sum of tensors, which it disposes. */
async function addUp(terms: readonly Tensor[]): Promise<Tensor> {
  const [first, ...rest] = terms as readonly [Tensor, ...Tensor[]];
  if (rest.length === 0) return first;
  try {
    return await rest.reduce<Tensor | Pending<Tensor>>((total, one) => total.add(one), first);
  } finally {
    for (const one of terms) one.dispose();
  }
}

/** What several operators give, one after the other; disposed where one throws. */
async function each(
  operands: readonly Operand[],
  call: (operand: Operand, at: number) => Promise<Tensor>,
): Promise<readonly Tensor[]> {
  const made: Tensor[] = [];
  try {
    for (const [at, one] of operands.entries()) made.push(await call(one, at));
    return made;
  } catch (error) {
    for (const one of made) one.dispose();
    throw error;
  }
}

const all = (operands: readonly Operand[], has: 'hasTranspose' | 'hasDiagonal'): boolean =>
  operands.every((one) => one[has]);

/** The sum of operators of one shape. */
export function sum<D extends OperatorDType>(
  operands: readonly [Operand<D>, ...Operand<D>[]],
): OperatorParts<D> {
  const { parameters, rebound, nature } = joined(operands);
  const total = (call: (one: Operand) => Promise<Tensor>) => async (given: readonly Tensor[]) =>
    addUp(await each(rebound(given), call));
  return {
    form: { ...formOf(operands[0]), ...nature },
    parameters,
    rules: {
      matvec: (v, given) => total((one) => one.matvec(v as never))(given),
      rmatvec: all(operands, 'hasTranspose')
        ? (v, given) => total((one) => one.rmatvec(v as never))(given)
        : undefined,
      diagonal: all(operands, 'hasDiagonal') ? total((one) => one.diagonal()) : undefined,
      rows: (indices, given) => total((one) => one.rows(indices))(given),
      dense: total((one) => one.dense()),
    },
  };
}

/** The product of two operators. */
export function product<D extends OperatorDType>(
  left: Operand<D>,
  right: Operand<D>,
): OperatorParts<D> {
  const operands = [left, right];
  const { parameters, rebound, nature } = joined(operands);
  return {
    form: { ...formOf(left), shape: [left.shape[0], right.shape[1]], ...nature },
    parameters,
    rules: {
      matvec: async (v, given) => {
        const [a, b] = rebound(given) as [Operand, Operand];
        using between = await b.matvec(v as never);
        return await a.matvec(between);
      },
      rmatvec: all(operands, 'hasTranspose')
        ? async (v, given) => {
            const [a, b] = rebound(given) as [Operand, Operand];
            using between = await a.rmatvec(v as never);
            return await b.rmatvec(between);
          }
        : undefined,
      diagonal: undefined,
    },
  };
}

/** An operator times a number. */
export function scaled<D extends OperatorDType>(
  operand: Operand<D>,
  factor: number | Tensor<D>,
): OperatorParts<D> {
  const { parameters, isTensor, split } = withScalar(operand, factor);
  const times = (call: (one: Operand) => Promise<Tensor>) => async (given: readonly Tensor[]) => {
    const { one, scalar } = split(given);
    using found = await call(one);
    return await found.mul(scalar);
  };
  return {
    form: formOf(operand),
    parameters: isTensor ? [...parameters, factor as Tensor] : parameters,
    rules: {
      matvec: (v, given) => times((one) => one.matvec(v as never))(given),
      rmatvec: operand.hasTranspose
        ? (v, given) => times((one) => one.rmatvec(v as never))(given)
        : undefined,
      diagonal: operand.hasDiagonal ? times((one) => one.diagonal()) : undefined,
      rows: (indices, given) => times((one) => one.rows(indices))(given),
      dense: times((one) => one.dense()),
    },
  };
}

/** An operator plus a multiple of the identity. */
export function shifted<D extends OperatorDType>(
  operand: Operand<D>,
  by: number | Tensor<D>,
): OperatorParts<D> {
  const { parameters, isTensor, split } = withScalar(operand, by);
  const plus =
    (call: (one: Operand, v: Tensor) => Promise<Tensor>) =>
    async (v: Tensor, given: readonly Tensor[]): Promise<Tensor> => {
      const { one, scalar } = split(given);
      using found = await call(one, v);
      return await found.add(v.mul(scalar));
    };
  return {
    form: formOf(operand),
    parameters: isTensor ? [...parameters, by as Tensor] : parameters,
    rules: {
      matvec: plus((one, v) => one.matvec(v as never)),
      rmatvec: operand.hasTranspose ? plus((one, v) => one.rmatvec(v as never)) : undefined,
      diagonal: operand.hasDiagonal
        ? async (given) => {
            const { one, scalar } = split(given);
            using found = await one.diagonal();
            return await found.add(scalar);
          }
        : undefined,
      rows: async (indices, given) => {
        const { one, scalar } = split(given);
        using found = await one.rows(indices);
        using units = await unitVectors(operand, operand.shape[0], indices);
        using across = units.transpose();
        return await found.add(across.mul(scalar));
      },
      dense: async (given) => {
        const { one, scalar } = split(given);
        const { shape, dtype, device } = operand;
        using unit = await eye(shape[0], { dtype, device });
        using found = await one.dense();
        return await found.add(unit.mul(scalar));
      },
    },
  };
}

/** A multiple of the identity, as large as an operator has columns. */
export function identityTimes<D extends OperatorDType>(
  { shape: [, columns], dtype, device }: OperatorForm<D>,
  by: number | Tensor<D>,
): OperatorParts<D> {
  const isTensor = typeof by !== 'number';
  const product = (v: Tensor, [scalar]: readonly Tensor[]): Pending<Tensor> =>
    v.mul(isTensor ? (scalar as Tensor) : by);
  return {
    form: { shape: [columns, columns], dtype, device, isCapturable: true },
    parameters: isTensor ? [by] : [],
    rules: { matvec: product, rmatvec: product, diagonal: undefined },
  };
}

/** The transpose. */
export function turned<D extends OperatorDType>(operand: Operand<D>): OperatorParts<D> {
  const [rows, columns] = operand.shape;
  const of = (given: readonly Tensor[]): Operand<D> => operand.withParameters(given);
  return {
    form: { ...formOf(operand), shape: [columns, rows] },
    parameters: operand.parameters,
    rules: {
      matvec: (v, given) => of(given).rmatvec(v as Tensor<D>),
      rmatvec: (v, given) => of(given).matvec(v as Tensor<D>),
      diagonal: operand.hasDiagonal ? (given) => of(given).diagonal() : undefined,
      dense: async (given) => {
        using found = await of(given).dense();
        using back = found.transpose();
        return await back.clone();
      },
    },
  };
}

/** Operators below one another, or side by side. */
export function stacked<D extends OperatorDType>(
  operands: readonly [Operand<D>, ...Operand<D>[]],
  axis: 0 | 1,
): OperatorParts<D> {
  const { parameters, rebound, nature } = joined(operands);
  const extents = operands.map(({ shape }) => shape[axis]);
  const total = extents.reduce((before, one) => before + one, 0);
  const across = operands[0].shape[1 - axis] as number;
  type Product = (one: Operand, v: Tensor) => Promise<Tensor>;
  /** The same vectors to each, and their products below one another. */
  const spread =
    (call: Product) =>
    async (v: Tensor, given: readonly Tensor[]): Promise<Tensor> => {
      const parts = await each(rebound(given), (one) => call(one, v));
      try {
        return await concat(parts as readonly [Tensor, ...Tensor[]], 0);
      } finally {
        for (const one of parts) one.dispose();
      }
    };
  /** Its part of the vectors to each, and the sum of their products. */
  const gathered =
    (call: Product) =>
    async (v: Tensor, given: readonly Tensor[]): Promise<Tensor> => {
      let start = 0;
      return addUp(
        await each(rebound(given), async (one, at) => {
          using part = v.slice([start, (start += extents[at] ?? 0)]);
          return await call(one, part);
        }),
      );
    };
  const [forwards, back] = axis === 0 ? [spread, gathered] : [gathered, spread];
  return {
    form: {
      ...formOf(operands[0]),
      shape: axis === 0 ? [total, across] : [across, total],
      ...nature,
    },
    parameters,
    rules: {
      matvec: forwards((one, v) => one.matvec(v as never)),
      rmatvec: all(operands, 'hasTranspose')
        ? back((one, v) => one.rmatvec(v as never))
        : undefined,
      diagonal: undefined,
    },
  };
}

/** An operator with a scalar, which is the last of the tensors where it is one. */
function withScalar<D extends OperatorDType>(
  operand: Operand<D>,
  scalar: number | Tensor<D>,
): {
  readonly parameters: readonly Tensor[];
  readonly isTensor: boolean;
  readonly split: (given: readonly Tensor[]) => { one: Operand; scalar: number | Tensor };
} {
  const { parameters } = operand;
  const isTensor = typeof scalar !== 'number';
  return {
    parameters,
    isTensor,
    split: (given) => ({
      one: operand.withParameters(given.slice(0, parameters.length)),
      scalar: isTensor ? (given[parameters.length] as Tensor) : scalar,
    }),
  };
}

const formOf = <D extends OperatorDType>({
  shape,
  dtype,
  device,
  isCapturable,
  isForeign,
}: OperatorForm<D>): OperatorForm<D> => ({ shape, dtype, device, isCapturable, isForeign });
