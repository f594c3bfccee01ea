import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waits before the next attempt at a lock: 1 ms at first, 25 ms at most, each drawn at random so
 * that processes which collided do not collide again. The event loop is free meanwhile.
 */
export async function backOff(
  attempt: number,
  random: () => number,
  mostMs = 25,
  keepsAlive = true,
): Promise<void> {
  const ceiling = Math.min(mostMs, 2 ** Math.min(attempt, 10));
  await sleep(ceiling * (0.5 + random() / 2), undefined, { ref: keepsAlive });
}
