/** Counts cases by kind, prints them, and finds the kinds that never came up. */
export class CountTable {
  readonly #counts = new Map<string, Map<string, number>>();

  /** Declares the kinds that must come up. */
  expect(dimension: string, kinds: readonly string[]): this {
    this.#counts.set(dimension, new Map(kinds.map((kind) => [kind, 0])));
    return this;
  }

  add(dimension: string, kind: string): void {
    const kinds = this.#counts.get(dimension);
    kinds?.set(kind, (kinds.get(kind) ?? 0) + 1);
  }

  /** Prints the table and returns the kinds with no case. */
  report(title: string): string[] {
    const zeros: string[] = [];
    const lines = [...this.#counts].map(([dimension, kinds]) => {
      for (const [kind, count] of kinds) if (count === 0) zeros.push(`${dimension} ${kind}`);
      return `  ${dimension}: ${[...kinds].map(([kind, count]) => `${kind} ${count}`).join(', ')}`;
    });
    process.stdout.write(`${title}\n${lines.join('\n')}\n`);
    return zeros;
  }
}
