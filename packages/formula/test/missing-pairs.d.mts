export function missingPairs<C>(
  cases: readonly C[],
  factors: Readonly<Partial<Record<keyof C & string, readonly unknown[]>>>,
): string[];
