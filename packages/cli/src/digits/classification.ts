import { nearestNeighbours, vote } from './nearest-neighbours.js';

/** What a k-nearest-neighbour classification said, image by image. */
export interface Classification {
  readonly predicted: Uint8Array;
  /** Index of the nearest known image for each classified one. */
  readonly nearest: Uint32Array;
  /** Labels of the k nearest, row by row. */
  readonly votes: Uint8Array;
  readonly k: number;
  readonly correct: number;
  readonly accuracy: number;
  /** confusion[true label][predicted label] */
  readonly confusion: readonly (readonly number[])[];
}

const CLASSES = 10;

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
  const confusion = Array.from({ length: CLASSES }, () => new Array<number>(CLASSES).fill(0));
  let correct = 0;
  for (let row = 0; row < rows; row++) {
    const [start, end] = [row * found.k, (row + 1) * found.k];
    const label = vote(votes.subarray(start, end), found.distances.subarray(start, end), CLASSES);
    const truth = testLabels[row] ?? 0;
    predicted[row] = label;
    nearest[row] = found.indices[start] ?? 0;
    const line = confusion[truth];
    if (line !== undefined) line[label] = (line[label] ?? 0) + 1;
    if (label === truth) correct++;
  }
  const accuracy = rows === 0 ? 0 : correct / rows;
  return { predicted, nearest, votes, k: found.k, correct, accuracy, confusion };
}
