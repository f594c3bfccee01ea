// The size of an example: small, so that it takes seconds on a CPU, or with `--whole` all of it, for a GPU.
const others = process.argv.slice(2).filter((argument) => argument !== '--whole');
if (others.length > 0) throw new Error(`The only argument is --whole, not ${others.join(' ')}.`);

/** Whether the program was started with `--whole`. */
export const whole = process.argv.includes('--whole');

/**
 * What some work gives, after its time was printed. On a GPU the work is to end with numbers on the host, or with a solve.
 *
 * @template T
 * @param {string} what @param {() => Promise<T>} work
 */
export async function timed(what, work) {
  const start = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - start) / 1000).toFixed(3)} s`);
  return result;
}
