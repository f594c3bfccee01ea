import { abs, lt, mul, select, variable } from '@mercer/formula';
import { empty, map, MercerError, type Tensor } from '@mercer/tensor';
import { sizeOfShape } from '@mercer/tensor/operation';

/** What is known of gradients together, 0-d tensors. */
export interface Measured {
  /** How many elements are NaN or infinite. */
  readonly bad: Tensor;
  /** The sum of the squares, in float64. */
  readonly squares: Tensor | undefined;
}

const g = variable('g');
/** 1 for NaN and infinity. */
const BAD = select(lt(abs(g), Infinity), 0, 1);
const SQUARE = mul(g, g);

/**
 * @param squares whether their norm is needed too
 * @throws MercerError INVALID_ARGUMENT where there are none
 */
export async function measured(
  grads: readonly Tensor[],
  squares: boolean,
  what: string,
): Promise<Measured> {
  if (grads.length === 0) {
    throw new MercerError('INVALID_ARGUMENT', `${what}: there is no gradient. Pass one or more.`);
  }
  const filled = grads.filter(({ size }) => size > 0);
  const [first = grads[0] as Tensor] = filled;
  const total = filled.reduce((sum, { size }) => sum + size, 0);
  const { device } = first;
  using bad = empty([total], { device, dtype: 'uint8' });
  using square = squares ? empty([total], { device, dtype: 'float64' }) : undefined;
  let at = 0;
  const places = filled.map(({ shape }) => {
    const from = at;
    at += sizeOfShape(shape);
    const part = (of: Tensor): Tensor => {
      using run = of.slice([from, at]);
      return run.reshape(shape);
    };
    return { bad: part(bad), square: square && part(square) };
  });
  try {
    const formulas = { bad: BAD, ...(square && { square: SQUARE }) };
    const out = {
      bad: places.map((one) => one.bad),
      ...(square && { square: places.map((one) => one.square as Tensor) }),
    };
    await map(formulas, { g: filled }, { out });
    return { bad: await bad.sum(), squares: await square?.sum() };
  } finally {
    for (const one of places) {
      one.bad.dispose();
      one.square?.dispose();
    }
  }
}
