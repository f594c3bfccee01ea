const BITS = 2 ** 32;

/** Numbers between two others that look random. The peers' script makes the same ones of the same seed. */
export function hashedNumbers(
  count: number,
  seed: number,
  [from, to]: readonly [number, number],
): Float32Array {
  const numbers = new Float32Array(count);
  const start = Math.imul(seed, 0x9e3779b9);
  for (let k = 0; k < count; k++) {
    let hash = Math.imul(k + start, 0x85ebca6b);
    hash = Math.imul(hash ^ (hash >>> 15), 0xc2b2ae35);
    hash ^= hash >>> 13;
    numbers[k] = from + (to - from) * ((hash >>> 0) / BITS);
  }
  return numbers;
}
