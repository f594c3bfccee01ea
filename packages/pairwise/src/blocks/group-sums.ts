import type { Tensor } from '@mercer/tensor';
import type { GradientsByLabel } from '../gradients-by-label.js';

/** Sums by label and first row, in float64. */
export type SumsByPlace = Map<string, Tensor>;

/** The place of a sum: a parameter has one, and the gradient of rows one for each block. */
export const placeOf = (label: string, first: number | undefined): string =>
  first === undefined ? label : `${label} ${first}`;

/** What is known of a place: its label, and its first row. */
export function labelAt(place: string): readonly [label: string, first: number] {
  const [label = '', first] = place.split(' ');
  return [label, Number(first ?? 0)];
}

/** Adds the terms; those are taken over, and the sums they are added to replaced. */
export async function addTo(sums: SumsByPlace, terms: SumsByPlace): Promise<void> {
  for (const [place, term] of terms) {
    terms.delete(place);
    const before = sums.get(place);
    if (before === undefined) {
      sums.set(place, term);
      continue;
    }
    using other = term;
    const sum: Tensor = await before.add(other);
    sums.set(place, sum);
    before.dispose();
  }
}

/** The gradients of blocks on one device, added up. */
export class GroupSums implements Disposable {
  #sums: SumsByPlace = new Map();

  /** Adds the gradients of a block, which are taken over. */
  async add(found: GradientsByLabel, first: Readonly<Record<string, number>>): Promise<void> {
    const terms: SumsByPlace = new Map();
    try {
      for (const [label, one] of Object.entries(found)) {
        if (one === undefined) continue;
        terms.set(placeOf(label, first[label]), await one.cast('float64'));
      }
      await addTo(this.#sums, terms);
    } finally {
      for (const one of Object.values(found)) one?.dispose();
      for (const one of terms.values()) one.dispose();
    }
  }

  /** The sums in host memory, and none from now on. */
  async take(): Promise<SumsByPlace> {
    const sums = this.#sums;
    this.#sums = new Map();
    const there: SumsByPlace = new Map();
    try {
      for (const [place, one] of sums) there.set(place, await one.to('cpu'));
      return there;
    } catch (error) {
      for (const one of there.values()) one.dispose();
      throw error;
    } finally {
      // of a CPU they are the same
      for (const [place, one] of sums) if (there.get(place) !== one) one.dispose();
    }
  }

  [Symbol.dispose](): void {
    for (const one of this.#sums.values()) one.dispose();
  }
}
