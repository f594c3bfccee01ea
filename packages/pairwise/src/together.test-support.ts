import { availableParallelism } from 'node:os';

/** Runs every case, as many at once as there are threads that compile: most of a case's time is its kernel's. */
export async function together<T>(
  cases: Iterable<T>,
  run: (each: T) => Promise<unknown>,
): Promise<void> {
  const queue = [...cases].values();
  const work = async (): Promise<void> => {
    for (const each of queue) await run(each);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
}

/**
 * One of every `of` cases, or all of them with `full`. The turns 0 to `of` - 1 take each case once; which of a group is taken
 * changes from group to group.
 */
export function covering<T>(
  cases: readonly T[],
  turn: number,
  full: boolean,
  of = 2,
): readonly T[] {
  return full ? cases : cases.filter((_, n) => (n + Math.floor(n / of) + turn) % of === 0);
}

/** Every choice of one value from each list, the last list changing fastest. */
export function combinations<T extends readonly (readonly unknown[])[]>(
  ...lists: T
): { [I in keyof T]: T[I][number] }[] {
  const all = lists.reduce<unknown[][]>(
    (rows, list) => rows.flatMap((row) => list.map((value) => [...row, value])),
    [[]],
  );
  return all as { [I in keyof T]: T[I][number] }[];
}

/** A value for every factor in every row, all rows there are. */
export function everyRow(levels: readonly number[]): number[][] {
  return combinations(...levels.map((count) => Array.from({ length: count }, (_, i) => i)));
}

/** A value for every factor in every row, such that any two values of two factors meet in some row. */
export function coveringArray(levels: readonly number[]): number[][] {
  const rows = everyRow(levels);
  const pairsOf = (row: readonly number[]): string[] =>
    row.flatMap((x, i) => row.slice(i + 1).map((y, j) => `${i}:${x} ${i + 1 + j}:${y}`));
  const open = new Set(rows.flatMap(pairsOf));
  const chosen: number[][] = [];
  while (open.size > 0) {
    let best: number[] = [];
    let gain = 0;
    for (const row of rows) {
      const covers = pairsOf(row).filter((pair) => open.has(pair)).length;
      if (covers > gain) [best, gain] = [row, covers];
    }
    chosen.push(best);
    for (const pair of pairsOf(best)) open.delete(pair);
  }
  return chosen;
}

/** Choices of one value from each list such that any two values of two lists meet in one. */
export function coveringPairs<T extends readonly (readonly unknown[])[]>(
  ...lists: T
): { [I in keyof T]: T[I][number] }[] {
  const rows = coveringArray(lists.map(({ length }) => length));
  return rows.map((row) => lists.map((list, i) => list[row[i] ?? 0])) as {
    [I in keyof T]: T[I][number];
  }[];
}
