/**
 * Results for all items, of which some are worked on at once. It rejects with the first error; work that has begun goes on.
 *
 * @template T, R
 * @param {readonly T[]} items @param {number} atOnce @param {(item: T) => Promise<R>} change
 * @returns {Promise<R[]>} in the order of the items
 */
export async function mapConcurrently(items, atOnce, change) {
  /** @type {R[]} */
  const results = [];
  const queue = items.entries();
  const work = async () => {
    for (const [index, item] of queue) results[index] = await change(item);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return results;
}
