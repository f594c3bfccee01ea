import { ambientStream, type AmbientStream } from './ambient-stream.js';

/** Work of functions that are prepared which nobody may await. */
const underWay = new WeakMap<AmbientStream, Set<Promise<unknown>>>();

/** Work that belongs to the function that is prepared, awaited by it or not: it is done before that ends. Nothing outside one. */
export function belongsToPrepared(work: Promise<unknown>): void {
  const stream = ambientStream();
  if (stream === undefined) return;
  let all = underWay.get(stream);
  if (all === undefined) underWay.set(stream, (all = new Set()));
  all.add(work);
}

/** Waits for what {@link belongsToPrepared} was told of. @throws what such work throws */
export async function preparedWork(): Promise<void> {
  const stream = ambientStream();
  const all = stream && underWay.get(stream);
  while (all !== undefined && all.size > 0) {
    const now = [...all];
    all.clear();
    await Promise.all(now);
  }
}
