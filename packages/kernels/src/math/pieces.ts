/** Parts that the texts of functions share. */
export type Piece =
  | 'bits'
  | 'whole'
  | 'scale'
  | 'exp'
  | 'expm1'
  | 'logParts'
  | 'log'
  | 'log1p'
  | 'angleKernels'
  | 'angle'
  | 'sinCos'
  | 'sinPi'
  | 'asinKernel'
  | 'atanKernel'
  | 'erfKernel'
  | 'erfcKernel'
  | 'lgammaPositive';

/** A part: the parts that it calls, and its text. */
export interface PieceText {
  readonly needs: readonly Piece[];
  readonly text: string;
}

/** How a dialect writes every part; one that is written in the common text is left out. */
export type PieceTable = { readonly [P in Piece]: PieceText };

/** The texts of parts and of what they need, each once, in order of need. */
export function pieceTexts(table: PieceTable, wanted: Iterable<Piece>): string[] {
  return withNeeds(wanted, (piece) => table[piece].needs).map((piece) => table[piece].text);
}

/** What is wanted and what that needs, each once and behind what it needs. */
export function withNeeds<K>(wanted: Iterable<K>, needsOf: (one: K) => readonly K[]): K[] {
  const all = new Set<K>();
  const include = (one: K): void => {
    needsOf(one).forEach(include);
    all.add(one);
  };
  for (const one of wanted) include(one);
  return [...all];
}
