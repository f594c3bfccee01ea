import { lines, upTo } from '../../emit/text.js';

/** A tile of sums that stay in registers while k runs: rows whose elements are broadcast, by vectors of columns. Texts are C++. */
export interface RegisterTile {
  readonly rows: number;
  readonly vectors: number;
  /** The address of the sums of row i and vector j. */
  readonly at: (i: number, j: number) => string;
  /** What a sum begins with, from where it lies. */
  readonly start: (place: string) => string;
  /** The element of row i. */
  readonly row: (i: number) => string;
  /** The address of the first vector of columns. */
  readonly columns: string;
  /** What moves the addresses to the next step of k. */
  readonly next: string;
  readonly add: (sum: string, x: string, y: string) => string;
  /** Statements behind the loop, about each sum. */
  readonly finish:
    ((sums: readonly { readonly name: string; readonly place: string }[]) => string) | undefined;
}

/** `depth` steps of k, written out, because compilers keep arrays of vectors in memory. */
export function registerTileText(tile: RegisterTile): string {
  const [rows, vectors] = [upTo(tile.rows), upTo(tile.vectors)];
  const sums = rows.flatMap((i) =>
    vectors.map((j) => ({ name: `s${i}_${j}`, place: `*(V*)(${tile.at(i, j)})` })),
  );
  return lines(
    `  V ${sums.map(({ name, place }) => `${name} = ${tile.start(place)}`).join(', ')};`,
    `  for (int64_t k = 0; k < depth; k++, ${tile.next}) {`,
    `    const V ${vectors.map((j) => `y${j} = *(const V*)(${tile.columns} + ${j} * LANES)`).join(', ')};`,
    '    V x;',
    ...rows.flatMap((i) => [
      `    x = splat(${tile.row(i)});`,
      ...vectors.map((j) => `    s${i}_${j} = ${tile.add(`s${i}_${j}`, 'x', `y${j}`)};`),
    ]),
    '  }',
    tile.finish?.(sums),
    ...sums.map(({ name, place }) => `  ${place} = ${name};`),
  );
}

/** The function that both blocks and tiles are cut by. */
export const AT_MOST =
  'INLINE int64_t at_most(int64_t x, int64_t limit) { return x < limit ? x : limit; }';
