import { ops, reduction, vi, vj } from '@mercer/formula';
import type { PairwiseDType } from '@mercer/kernels';
import { full, type Tensor } from '@mercer/tensor';
import {
  notDifferentiable,
  pending,
  promisesTraced,
  type DerivativeRule,
  type Share,
  type Value,
} from '@mercer/tensor/operation';
import { ofRows, OPERANDS } from './backward-formulas.js';
import type { CdistOptions } from './cdist-options.js';
import { cdistSpec } from './cdist-spec.js';
import { pairSumShares } from './pair-sums.js';

type Arguments = readonly [gradient: Tensor, a: Tensor, b: Tensor, options?: CdistOptions];

/** The places of the gradient, of a and of b among the arguments. */
type Place = 0 | 1 | 2;

/** The gradients of `cdistBackward` are sums over pairs: its rule is that of such a sum, for each role of rows that has a cotangent. */
export const cdistBackwardRule: DerivativeRule<Arguments> = {
  vjp: (g, { args }) => {
    const cotangents = g as unknown as Readonly<Record<'a' | 'b' | 'p', Value | undefined>>;
    if (cotangents.p !== undefined) {
      throw notDifferentiable('cdistBackward', 'its gradient by p has no derivative rule');
    }
    const gradientBy = async (place: Place): Promise<Tensor | undefined> => {
      let total: Value | undefined;
      for (const role of ['a', 'b'] as const) {
        const cotangent = cotangents[role];
        if (cotangent === undefined) continue;
        const share = await shareOfRole(role, await cotangent, args, place);
        if (share !== undefined) total = total?.add(share) ?? share;
      }
      return total;
    };
    const shareOf =
      (place: Place): Share =>
      () =>
        promisesTraced(pending(gradientBy(place))) as never;
    return [shareOf(0), shareOf(1), shareOf(2)];
  },
};

/** What the gradient by the rows of one role gives to an argument. */
async function shareOfRole(
  role: 'a' | 'b',
  cotangent: Tensor,
  [gradient, a, b, { p = 2, skipEpilogue = false } = {}]: Arguments,
  place: Place,
): Promise<Tensor | undefined> {
  const { device, dtype, shape } = gradient;
  const isA = role === 'a';
  const [kept, other] = isA ? [a, b] : [b, a];
  const pairs = await (isA ? gradient : gradient.transpose()).contiguous();
  const rules = { masked: undefined, stored: false };
  const k = a.shape.at(-1) ?? 1;
  const spec = cdistSpec({ p, skipEpilogue });
  const { formulas, values } = ofRows(spec, dtype as PairwiseDType, k, role, rules);
  const tensors: (Tensor | undefined)[] = Array.from({ length: OPERANDS.values });
  tensors[OPERANDS.a] = kept;
  tensors[OPERANDS.b] = other;
  tensors[OPERANDS.upstream] = pairs.reshape([...pairs.shape, 1]);
  for (const value of values) {
    tensors.push(await full([1, 1], Number(value), { dtype: dtype as PairwiseDType, device }));
  }
  const [formula] = formulas;
  if (formula === undefined) throw new Error('a gradient by rows has a formula');
  const batchShape = shape.slice(0, -2);
  const [rowsI = 1, rowsJ = 1] = pairs.shape.slice(-2);
  const batch = batchShape.reduce((product, extent) => product * extent, 1);
  const problem = {
    what: 'cdistBackward',
    sizes: { dtype: dtype as PairwiseDType, rowsI, rowsJ, batchShape, batch },
    // a root has no slope at 0
    kink: skipEpilogue ? undefined : ops.equal(ops.sqDist(vi(OPERANDS.a, k), vj(OPERANDS.b, k)), 0),
  };
  const shares = pairSumShares(problem, reduction('Sum', formula), tensors, cotangent);
  const at = [OPERANDS.upstream, isA ? OPERANDS.a : OPERANDS.b, isA ? OPERANDS.b : OPERANDS.a];
  const share = (await shares[at[place] ?? 0]?.()) as Tensor | undefined;
  if (share === undefined || place !== 0) return share;
  const flat = share.reshape(pairs.shape);
  return isA ? flat : flat.transpose();
}
