import { CLASSES } from './score.js';

/** Targets of a regression on labels: a row for each image, 1 at its label and 0 elsewhere, less the mean of each column. */
export interface CentredTargets {
  /** `labels.length` x 10. */
  readonly targets: Float32Array;
  readonly means: Float64Array;
}

/** One-hot targets, centred. */
export function centredTargets(labels: Uint8Array): CentredTargets {
  const means = new Float64Array(CLASSES);
  for (const label of labels) means[label] = (means[label] ?? 0) + 1 / labels.length;
  const targets = Float32Array.from(
    { length: labels.length * CLASSES },
    (_, i) => Number(labels[Math.floor(i / CLASSES)] === i % CLASSES) - (means[i % CLASSES] ?? 0),
  );
  return { targets, means };
}

/**
 * The label of each row of scores: where score plus mean is largest, the smaller label of equal ones. Rows have `stride` scores
 * of which ten from `start` on are read.
 */
export function labelsOf(
  scores: Float32Array,
  means: Float64Array,
  stride = CLASSES,
  start = 0,
): Uint8Array {
  return Uint8Array.from({ length: scores.length / stride }, (_, row) => {
    let [winner, most] = [0, -Infinity];
    for (let label = 0; label < CLASSES; label++) {
      const score = (scores[row * stride + start + label] ?? NaN) + (means[label] ?? 0);
      if (score > most) [winner, most] = [label, score];
    }
    return winner;
  });
}
