import { readFileSync } from 'node:fs';

/**
 * The longest time in ms that the main thread computed without returning to the event loop while `body` ran. Counted by the kernel
 * for this thread alone, so that other processes on the machine do not count.
 */
export async function longestBlockMs(body: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let last = cpuMs();
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(look, 1);
  try {
    await body();
    look();
  } finally {
    clearInterval(timer);
  }
  return longest;
}

function cpuMs(): number {
  const [ns = 'NaN'] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(
    ' ',
  );
  return Number(ns) / 1e6;
}
