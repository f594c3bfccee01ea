/*
 * Philox 4x32-10 as its authors write it down, with whole numbers of any size. Shares no code with the package.
 */
const WORD = 2n ** 32n;
const M0 = 0xd2511f53n;
const M1 = 0xcd9e8d57n;
const W0 = 0x9e3779b9n;
const W1 = 0xbb67ae85n;

/** The four words of a counter of four words and a key of two, lowest first. */
export function philoxOracle(
  counter: readonly [bigint, bigint, bigint, bigint],
  key: readonly [bigint, bigint],
): readonly [bigint, bigint, bigint, bigint] {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < 10; round++) {
    const product0 = M0 * c0;
    const product1 = M1 * c2;
    [c0, c1, c2, c3] = [
      (product1 / WORD) ^ c1 ^ k0,
      product1 % WORD,
      (product0 / WORD) ^ c3 ^ k1,
      product0 % WORD,
    ];
    k0 = (k0 + W0) % WORD;
    k1 = (k1 + W1) % WORD;
  }
  return [c0, c1, c2, c3];
}

/** The words that numbers are made of: those of counters 0, 1, ... one behind the other. */
export function wordsOracle(seed: bigint, count: number): readonly bigint[] {
  const bits = BigInt.asUintN(64, seed);
  const blocks = Array.from({ length: Math.ceil(count / 4) }, (_, n) =>
    philoxOracle([BigInt(n) % WORD, BigInt(n) / WORD, 0n, 0n], [bits % WORD, bits / WORD]),
  );
  return blocks.flat().slice(0, count);
}
