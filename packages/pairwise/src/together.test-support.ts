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
