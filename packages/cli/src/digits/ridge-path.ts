import { eigh, matmul, scope, type Tensor } from '@mercer/core';
import { centredTargets, labelsOf } from './one-hot.js';
import { CLASSES, scoreAnswers, type Score } from './score.js';
import { timed } from './timed.js';

/** The ridges that are tried. */
export const RIDGES: readonly number[] = [
  1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10, 30,
];

/** How well each ridge names digits that its regression has not seen. */
export interface RidgePath {
  readonly trainCount: number;
  readonly validationCount: number;
  readonly points: readonly { readonly ridge: number; readonly accuracy: number }[];
  /** The best on the validation digits; of equally good ones the largest. */
  readonly chosen: number;
  /** The regression on the path's training digits with the chosen ridge, on the held-out digits. */
  readonly heldOut: Score;
  readonly eighMs: number;
  /** All ridges, once the eigendecomposition is there. */
  readonly ridgesMs: number;
}

/** Matrices on one device and the labels that belong to them. */
export interface PathProblem {
  /** train x train, without a ridge. */
  readonly kernel: Tensor<'float32'>;
  /** validation x train */
  readonly validation: Tensor<'float32'>;
  /** held out x train */
  readonly heldOut: Tensor<'float32'>;
  readonly labels: Uint8Array;
  readonly validationLabels: Uint8Array;
  readonly heldOutLabels: Uint8Array;
}

/**
 * Kernel ridge regression with every ridge r from one eigendecomposition K = V diag(w) V^T: the coefficients are
 * V diag(1 / (w + r)) V^T y, so that a ridge costs no factorisation.
 */
export function ridgePath(problem: PathProblem): Promise<RidgePath> {
  return scope(async (s) => {
    const { kernel, labels, validationLabels, heldOutLabels } = problem;
    const { targets, means } = centredTargets(labels);
    const n = labels.length;
    const { device } = kernel;
    const { ms: eighMs, value: eigen } = await timed(() => eigh(kernel, { checkErrors: true }));
    const vectors = s.track(eigen.vectors);
    const values = await s.track(eigen.values).toTypedArray();
    s.track(eigen.infos);
    const { ms: ridgesMs, value: tried } = await timed(async () => {
      const y = await s.tensor(targets, { shape: [n, CLASSES], device });
      const projection = s.track(await matmul(vectors, y, { transposeA: true }));
      const projected = await projection.toTypedArray();
      // The coefficients in the basis of the eigenvectors, ten columns for each ridge.
      const columns = RIDGES.length * CLASSES;
      const scaled = new Float32Array(n * columns);
      for (let i = 0; i < n; i++) {
        RIDGES.forEach((ridge, at) => {
          const inverse = 1 / ((values[i] ?? 0) + ridge);
          for (let label = 0; label < CLASSES; label++) {
            scaled[i * columns + at * CLASSES + label] =
              (projected[i * CLASSES + label] ?? 0) * inverse;
          }
        });
      }
      const basis = await s.tensor(scaled, { shape: [n, columns], device });
      const coefficients = s.track(await matmul(vectors, basis));
      const product = s.track(await matmul(problem.validation, coefficients));
      const scores = await product.toTypedArray();
      const points = RIDGES.map((ridge, at) => {
        const answers = labelsOf(scores, means, columns, at * CLASSES);
        return { ridge, accuracy: scoreAnswers(answers, validationLabels).accuracy };
      });
      return { points, coefficients };
    });
    const best = Math.max(...tried.points.map(({ accuracy }) => accuracy));
    const at = tried.points.findLastIndex(({ accuracy }) => accuracy === best);
    const chosen = s.track(tried.coefficients.slice(null, [at * CLASSES, (at + 1) * CLASSES]));
    const named = s.track(await matmul(problem.heldOut, chosen));
    return {
      trainCount: n,
      validationCount: validationLabels.length,
      points: tried.points,
      chosen: RIDGES[at] ?? NaN,
      heldOut: scoreAnswers(labelsOf(await named.toTypedArray(), means), heldOutLabels),
      eighMs,
      ridgesMs,
    };
  });
}
