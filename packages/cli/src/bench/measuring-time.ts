/** The share of a first look. */
const BRIEF = 0.1;

let share = 1;

/** Has all measurements of this process take a tenth of their calls and of their time, for a first look. */
export function measureBriefly(): void {
  share = BRIEF;
}

/** So many calls, rounds or milliseconds, or their part of a first look: one at least. */
export const asMany = (usual: number): number => Math.max(1, Math.round(usual * share));
