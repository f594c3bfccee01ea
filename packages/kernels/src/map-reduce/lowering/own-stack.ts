import type { Steps } from '@mercer/formula/plan';

/** A rule that yields what it needs and is given its value. */
export type Rule<W, V> = Generator<W, V, V>;

/** A value that is known, or the rule that makes it and what keeps it then. */
export type Asked<W, V> =
  { readonly known: V } | { readonly rule: Rule<W, V>; readonly keep: (value: V) => void };

const isKnown = <W, V>(asked: Asked<W, V>): asked is { readonly known: V } =>
  Object.hasOwn(asked, 'known');

/** In steps, the value of `first`. Rules wait on a stack of their own: formulas are deeper than calls may nest. */
export function* onOwnStack<W, V>(first: W, ask: (wanted: W) => Asked<W, V>): Steps<V> {
  const open: Exclude<Asked<W, V>, { readonly known: V }>[] = [];
  let wanted = first;
  for (;;) {
    const asked = ask(wanted);
    yield;
    let given: V | undefined;
    if (isKnown(asked)) given = asked.known;
    else open.push(asked);
    for (;;) {
      const top = open.at(-1);
      if (top === undefined) return given as V;
      // a rule that has just begun is given nothing
      const next = top.rule.next(given as V);
      if (next.done !== true) {
        wanted = next.value;
        break;
      }
      top.keep(next.value);
      open.pop();
      given = next.value;
    }
  }
}
