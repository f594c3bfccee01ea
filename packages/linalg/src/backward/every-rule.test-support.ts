import type { Device, Tensor } from '@mercer/tensor';
import type { LinalgDType } from '../checks.js';
import { eigh } from '../eigh.js';
import { definite, type Dense } from '../matrices.test-support.js';
import { svd } from '../svd.js';
import { choleskyBackward } from './cholesky-backward.js';
import { eighBackward } from './eigh-backward.js';
import { stack, toDevice } from './finite-differences.test-support.js';
import { invBackward } from './inv-backward.js';
import { kronBackward } from './kron-backward.js';
import { kronMatvecBackward } from './kron-matvec-backward.js';
import { logdetBackward } from './logdet-backward.js';
import { lstsqBackward } from './lstsq-backward.js';
import { matmulBackward } from './matmul-backward.js';
import { matrixPowerBackward } from './matrix-power-backward.js';
import { qrBackward } from './qr-backward.js';
import { solveCholeskyBackward } from './solve-cholesky-backward.js';
import { solveLUBackward } from './solve-lu-backward.js';
import { svdBackward } from './svd-backward.js';
import { solveTriangularBackward } from './solve-triangular-backward.js';

type Gradients = Readonly<Record<string, Tensor>>;
type Call = (...args: readonly unknown[]) => Promise<Gradients>;
type Face = Call & {
  readonly prepare: (
    ...args: readonly unknown[]
  ) => Promise<(...args: readonly unknown[]) => Gradients | Promise<Gradients>>;
};

/** A backward rule and what it is called with. */
export interface RuleCall {
  readonly face: Face;
  readonly args: readonly unknown[];
  readonly options: object;
}

/** Calls as they are made. */
export async function everyRule(
  dtype: LinalgDType,
  device: Device,
): Promise<Readonly<Record<string, () => Promise<Gradients>>>> {
  const calls = Object.entries(await everyRuleCall(dtype, device));
  return Object.fromEntries(
    calls.map(([name, { face, args, options }]) => [name, () => face(...args, options)]),
  );
}

/** A call of every backward rule, with a batch of two and an operand that is broadcast. */
export async function everyRuleCall(
  dtype: LinalgDType,
  device: Device,
): Promise<Readonly<Record<string, RuleCall>>> {
  const put = (matrices: readonly Dense[]): Promise<Tensor<LinalgDType>> =>
    toDevice(stack([matrices.length], matrices), dtype, device);
  const a = await put([definite(3, 1), definite(3, 2)]);
  using only = await put([definite(3, 7)]);
  const b = only.reshape([3, 3]);
  const gradient = await put([definite(3, 3), definite(3, 4)]);
  const product = await put([definite(9, 1), definite(9, 2)]);
  const [spectrum, factors] = [await eigh(a), await svd(a)];
  const [one, row, vector] = [
    spectrum.values.slice(null, 0),
    b.reshape([9]),
    gradient.reshape([2, 9]),
  ];
  // more rows than columns, and fewer
  const [tall, wide] = [a.slice(null, null, [0, 2]), a.slice(null, [0, 2])];
  const [tallFactors, wideFactors] = [await svd(tall), await svd(wide)];
  const { u: dTall, vh: dTallV } = tallFactors;
  const { u: dWide, vh: dWideV } = wideFactors;
  const rows: Readonly<
    Record<string, readonly [face: unknown, args: readonly unknown[], options?: object]>
  > = {
    cholesky: [choleskyBackward, [gradient, { factor: a }]],
    eigenvalues: [eighBackward, [{ values: spectrum.values }, spectrum]],
    eigenvectors: [eighBackward, [{ vectors: gradient }, spectrum]],
    eigh: [eighBackward, [{ values: spectrum.values, vectors: gradient }, spectrum]],
    inv: [invBackward, [gradient, { inverse: a }], { method: 'cholesky' }],
    kron: [kronBackward, [product, { a, b }]],
    kronMatvec: [kronMatvecBackward, [vector, { a, b, x: row }]],
    logdet: [logdetBackward, [one, { a }]],
    logdetByCholesky: [logdetBackward, [one, { a }], { method: 'cholesky' }],
    lstsq: [lstsqBackward, [gradient, { a, b, x: gradient }]],
    matmul: [matmulBackward, [gradient, { a, b }]],
    matrixPower: [matrixPowerBackward, [gradient, { a }, 0.5]],
    qr: [
      qrBackward,
      [
        { q: gradient, r: gradient },
        { q: factors.u, r: a },
      ],
    ],
    qrOfFewRows: [
      qrBackward,
      [
        { q: dWide, r: wide },
        { q: dWide, r: wide },
      ],
    ],
    solveCholesky: [solveCholeskyBackward, [gradient, { a, x: gradient, b }]],
    solveCholeskyByFactor: [solveCholeskyBackward, [gradient, { factor: a, x: gradient }]],
    solveLU: [solveLUBackward, [gradient, { a, x: gradient, b }]],
    svd: [svdBackward, [{ u: gradient, s: factors.s, vh: gradient }, factors]],
    svdOfFewColumns: [svdBackward, [{ u: dTall, vh: dTallV }, tallFactors]],
    svdOfFewRows: [svdBackward, [{ u: dWide, s: wideFactors.s, vh: dWideV }, wideFactors]],
    solveTriangular: [solveTriangularBackward, [gradient, { a, x: gradient, b }]],
  };
  return Object.fromEntries(
    Object.entries(rows).map(([name, [face, args, options = {}]]) => [
      name,
      { face: face as Face, args, options },
    ]),
  );
}
