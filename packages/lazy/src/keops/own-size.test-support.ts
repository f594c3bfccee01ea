/** A size for every day, or what KeOps' own test has, with MERCER_TEST_FULL=1. */
export const ownSize = <T>(small: T, own: T): T =>
  process.env['MERCER_TEST_FULL'] === '1' ? own : small;
