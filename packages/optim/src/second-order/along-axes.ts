import { matmul } from '@mercer/linalg';
import type { Scope, Stream, Tensor } from '@mercer/tensor';

/** Tensors whose dtype the caller knows to be float32 or float64. */
export const floats = (x: Tensor): Tensor<'float64'> => x as Tensor<'float64'>;

/** How a product is taken. */
export interface ProductOptions {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly alpha?: number;
  readonly stream?: Stream | undefined;
  /** Of float32 on a GPU; default 'float32'. */
  readonly precision?: 'float32' | 'tf32' | undefined;
  /** Where it goes; default: new memory. */
  readonly out?: Tensor | undefined;
}

/** A product that the scope owns. */
export const productOf = async (
  scope: Scope,
  a: Tensor,
  b: Tensor,
  { out, ...options }: ProductOptions = {},
): Promise<Tensor> =>
  scope.track(await matmul(floats(a), floats(b), { ...options, out: out && floats(out) }));

/** An axis of (count, ..sizes) in front of the others, which are one: (count, size, rest), row-major. */
async function unfolded(scope: Scope, x: Tensor, axis: number): Promise<Tensor> {
  const [count = 0] = x.shape;
  const size = x.shape[axis + 1] ?? 1;
  const turned = scope.track(x.permute(frontAxes(x.rank, axis)));
  const whole = scope.track(await turned.contiguous());
  return scope.track(whole.reshape([count, size, x.size / Math.max(1, count * size)]));
}

const frontAxes = (rank: number, axis: number): number[] => [
  0,
  axis + 1,
  ...Array.from({ length: rank - 1 }, (_, k) => k + 1).filter((k) => k !== axis + 1),
];

/** The sums over all but one axis of products of elements, for each block: (count, ..sizes) to (count, size, size). */
export async function gramOf(scope: Scope, x: Tensor, axis: number): Promise<Tensor> {
  if (x.rank === 3) {
    return axis === 0
      ? productOf(scope, x, x, { transposeB: true })
      : productOf(scope, x, x, { transposeA: true });
  }
  const rows = await unfolded(scope, x, axis);
  return productOf(scope, rows, rows, { transposeB: true });
}

/** How products along axes are taken. */
export interface AlongOptions extends Pick<ProductOptions, 'precision'> {
  /** Default false. */
  readonly transpose?: boolean;
  /** Where the result goes, row-major; default: new memory. */
  readonly into?: Tensor | undefined;
}

/**
 * Products of matrices (count, size, size) with blocks along their axes, one matrix for each axis where there is one: the sum over j of `m[i, j] x[.., j, ..]`, or with `transpose` of
 * `m[j, i] x[.., j, ..]`.
 */
export async function alongAxes(
  scope: Scope,
  x: Tensor,
  matrices: readonly (Tensor | undefined)[],
  { transpose = false, into, precision }: AlongOptions = {},
): Promise<Tensor> {
  // others have none to choose
  const how = x.dtype === 'float32' ? { precision } : {};
  let now = x;
  const last = matrices.findLastIndex((m) => m !== undefined);
  for (const [axis, m] of matrices.entries()) {
    if (m === undefined) continue;
    const out = axis === last ? into : undefined;
    if (x.rank === 3) {
      now =
        axis === 0
          ? await productOf(scope, m, now, { ...how, transposeA: transpose, out })
          : await productOf(scope, now, m, { ...how, transposeB: !transpose, out });
      continue;
    }
    const rows = await unfolded(scope, now, axis);
    // the first axis stays where it is
    const room = axis === 0 && out !== undefined ? scope.track(out.reshape(rows.shape)) : undefined;
    const turned = await productOf(scope, m, rows, { ...how, transposeA: transpose, out: room });
    if (room !== undefined) return out as Tensor;
    const axes = frontAxes(x.rank, axis);
    const back = axes.map((_, k) => axes.indexOf(k));
    const shape = axes.map((k) => x.shape[k] ?? 1);
    now = scope.track(scope.track(turned.reshape(shape)).permute(back));
  }
  if (into === undefined || now === into) return now;
  await into.copyFrom(now);
  return into;
}
