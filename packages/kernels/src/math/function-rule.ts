import type { Piece } from './pieces.js';

/** A function in the text that both dialects share: `Wide name(Wide x)`, or of y and x. */
export interface FunctionText {
  readonly needs: readonly Piece[];
  /** The statements of its body; they end with the return. */
  readonly body: string;
}

/** From the fixed numbers of a function to its text. */
export type FunctionRule = (attributes: readonly number[]) => FunctionText;
