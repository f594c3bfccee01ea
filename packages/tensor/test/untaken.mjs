import { setTimeout as sleep } from 'node:timers/promises';

/** The rejections of work, and of what it left behind, that nobody has taken. */
export async function untaken(work) {
  const seen = [];
  const note = (reason) => void seen.push(reason);
  process.on('unhandledRejection', note);
  try {
    await work();
    await sleep(20);
  } finally {
    process.off('unhandledRejection', note);
  }
  return seen;
}
