import { nearestNeighbours, vote } from './nearest-neighbours.js';
import { CLASSES, scoreAnswers, type Score } from './score.js';

/** What a k-nearest-neighbour classification said, image by image. */
export interface Classification extends Score {
  readonly predicted: Uint8Array;
  /** Index of the nearest known image for each classified one. */
  readonly nearest: Uint32Array;
  /** Labels of the k nearest, row by row. */
  readonly votes: Uint8Array;
  readonly k: number;
}

/** Classifies each row of a `test` x `train` matrix of distances by its `k` nearest columns. */
export function classify(
  distances: Float32Array | Float64Array,
  trainLabels: Uint8Array,
  testLabels: Uint8Array,
  k: number,
): Classification {
  const rows = testLabels.length;
  const found = nearestNeighbours(distances, rows, trainLabels.length, k);
  const predicted = new Uint8Array(rows);
  const nearest = new Uint32Array(rows);
  const votes = Uint8Array.from(found.indices, (index) => trainLabels[index] ?? 0);
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * found.k, (row + 1) * found.k];
    const near = found.distances.subarray(start, end);
    predicted[row] = vote(votes.subarray(start, end), near, CLASSES);
    nearest[row] = found.indices[start] ?? 0;
  }
  return { predicted, nearest, votes, k: found.k, ...scoreAnswers(predicted, testLabels) };
}
