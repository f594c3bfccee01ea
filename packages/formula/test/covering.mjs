import process from 'node:process';

/**
 * One of every `of` cases, or all of them with MERCER_TEST_FULL=1. The turns 0 to `of` - 1 take each case once;
 * which of a group is taken changes from group to group, so that a turn meets every place in its groups.
 */
export function covering(cases, turn, of = 2) {
  if (process.env['MERCER_TEST_FULL'] === '1') return cases;
  return cases.filter((_, n) => (n + Math.floor(n / of) + turn) % of === 0);
}
