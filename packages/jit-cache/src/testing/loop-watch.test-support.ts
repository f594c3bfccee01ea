/** What a 10 ms timer saw. */
export interface LoopReport {
  /** How late each tick came, in ms: our blocking, and whatever else the machine was busy with. */
  readonly delaysMs: number[];
  /** How long the event loop was at work between ticks, in ms: our blocking alone. */
  readonly activeMs: number[];
}

/** Starts a 10 ms timer; the returned function ends it and tells what it saw. */
export function watchLoop(): () => LoopReport {
  const delaysMs: number[] = [];
  const activeMs: number[] = [];
  let last = performance.now();
  let use = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.now();
    const next = performance.eventLoopUtilization();
    delaysMs.push(Math.max(0, now - last - 10));
    activeMs.push(performance.eventLoopUtilization(next, use).active);
    last = now;
    use = next;
  }, 10);
  return () => {
    clearInterval(timer);
    return { delaysMs, activeMs };
  };
}

/** The value that the given share of all values does not exceed; infinite for no values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Infinity;
}
