/** A whole number that is known when a kernel runs, as C++ text, with the range that it stays in. */
interface Atom {
  readonly text: string;
  readonly low: number;
  readonly high: number;
  /** The counters of loops that it depends on. */
  readonly counters: readonly string[];
}

/** The number of a component: a constant, and multiples of counters and of what is made from them. */
export interface IndexExpr {
  readonly constant: number;
  readonly terms: readonly { readonly atom: Atom; readonly factor: number }[];
}

/** The number `value`. */
export const fixedIndex = (value: number): IndexExpr => ({ constant: value, terms: [] });

/** A loop's counter, from 0 to `size - 1`. */
export function counterIndex(name: string, size: number): IndexExpr {
  if (size === 1) return fixedIndex(0);
  return ofAtom({ text: name, low: 0, high: size - 1, counters: [name] });
}

const ofAtom = (atom: Atom): IndexExpr => ({ constant: 0, terms: [{ atom, factor: 1 }] });

/** `index * factor + offset`; the factor is not 0. */
export function affineIndex({ constant, terms }: IndexExpr, factor: number, offset = 0): IndexExpr {
  return {
    constant: constant * factor + offset,
    terms: terms.map(({ atom, factor: old }) => ({ atom, factor: old * factor })),
  };
}

/** The sum of two. */
export function sumIndex(a: IndexExpr, b: IndexExpr): IndexExpr {
  const terms = [...a.terms];
  for (const { atom, factor } of b.terms) {
    const at = terms.findIndex((term) => term.atom.text === atom.text);
    const known = terms[at];
    if (known === undefined) terms.push({ atom, factor });
    else terms[at] = { atom, factor: known.factor + factor };
  }
  return { constant: a.constant + b.constant, terms: terms.filter(({ factor }) => factor !== 0) };
}

/** Its least and greatest value. */
export function indexRange({ constant, terms }: IndexExpr): {
  readonly low: number;
  readonly high: number;
} {
  let [low, high] = [constant, constant];
  for (const { atom, factor } of terms) {
    const ends = [atom.low * factor, atom.high * factor];
    low += Math.min(...ends);
    high += Math.max(...ends);
  }
  return { low, high };
}

/** The counters that it depends on. */
export const indexCounters = ({ terms }: IndexExpr): string[] => [
  ...new Set(terms.flatMap(({ atom }) => atom.counters)),
];

/** C++ text, in brackets where it is not one word. */
export function indexText({ constant, terms }: IndexExpr): string {
  const parts = terms.map(({ atom, factor }) =>
    factor === 1 ? atom.text : `${atom.text} * ${factor}`,
  );
  if (constant !== 0 || parts.length === 0) parts.push(String(constant));
  const [first = ''] = parts;
  return parts.length === 1 && /^-?\w+$/.test(first) ? first : `(${parts.join(' + ')})`;
}

/** Quotient and remainder by `n` of an index that is never below 0. */
export function divideIndex(
  index: IndexExpr,
  n: number,
): { readonly quotient: IndexExpr; readonly remainder: IndexExpr } {
  if (n === 1) return { quotient: index, remainder: fixedIndex(0) };
  const whole = index.terms.filter(({ factor }) => factor % n === 0);
  const rest: IndexExpr = {
    constant: index.constant % n,
    terms: index.terms.filter(({ factor }) => factor % n !== 0),
  };
  const quotient: IndexExpr = {
    constant: Math.trunc(index.constant / n),
    terms: whole.map(({ atom, factor }) => ({ atom, factor: factor / n })),
  };
  const range = indexRange(rest);
  if (range.low >= 0 && range.high < n) return { quotient, remainder: rest };
  const text = indexText(index);
  const { low, high } = indexRange(index);
  const counters = indexCounters(index);
  return {
    quotient: ofAtom({
      text: `(${text} / ${n})`,
      counters,
      low: Math.floor(low / n),
      high: Math.floor(high / n),
    }),
    remainder: ofAtom({ text: `(${text} % ${n})`, low: 0, high: n - 1, counters }),
  };
}

/** The index, moved to the nearest number from `low` to `high`. */
export function clampIndex(index: IndexExpr, low: number, high: number): IndexExpr {
  const range = indexRange(index);
  if (range.low >= low && range.high <= high) return index;
  if (range.high <= low) return fixedIndex(low);
  if (range.low >= high) return fixedIndex(high);
  const text = indexText(index);
  return ofAtom({
    text: `(${text} < ${low} ? ${low} : ${text} > ${high} ? ${high} : ${text})`,
    low: Math.max(low, range.low),
    high: Math.min(high, range.high),
    counters: indexCounters(index),
  });
}
