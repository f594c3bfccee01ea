/** In the place of collect-garbage.ts: a page cannot ask for a collection. What was collected by itself is still found. */
export function collectGarbage(): void {
  return undefined;
}
