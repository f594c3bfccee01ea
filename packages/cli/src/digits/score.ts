/** How many answers are right, and which digits are taken for which. */
export interface Score {
  readonly correct: number;
  readonly accuracy: number;
  /** confusion[true label][predicted label] */
  readonly confusion: readonly (readonly number[])[];
}

/** Digits that there are. */
export const CLASSES = 10;

/** Counts the answers that are the truth. */
export function scoreAnswers(predicted: Uint8Array, truths: Uint8Array): Score {
  const confusion = Array.from({ length: CLASSES }, () => new Array<number>(CLASSES).fill(0));
  let correct = 0;
  truths.forEach((truth, i) => {
    const label = predicted[i] ?? 0;
    const line = confusion[truth];
    if (line !== undefined) line[label] = (line[label] ?? 0) + 1;
    if (label === truth) correct++;
  });
  const accuracy = truths.length === 0 ? 0 : correct / truths.length;
  return { correct, accuracy, confusion };
}
