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
 * Every other case, or with `full` all of them. The turns 0 and 1 take each case once; which of a pair is taken changes
 * from pair to pair.
 */
export function covering<T>(cases: readonly T[], turn: number, full: boolean): readonly T[] {
  return full ? cases : cases.filter((_, n) => (n + (n >> 1) + turn) % 2 === 0);
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
