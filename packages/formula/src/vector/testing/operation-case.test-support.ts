/** One operation of the text language, its inputs, and what it must give. */
export interface OperationCase {
  /** The formula; the inputs are called a, b, c. */
  readonly text: string;
  /** Dim and range of each input. */
  readonly inputs: readonly (readonly [dim: number, low: number, high: number])[];
  /** The result, written without the package under test. */
  readonly oracle: (...args: readonly (readonly number[])[]) => readonly number[];
  /** Largest relative error of the oracle; default 1e-12. */
  readonly tolerance?: number;
}
