/** In the place of store/system.ts: no environment, and the cache without a store. */
export const realSystem = () => ({
  env: { MERCER_CACHE: 'off' },
  pid: 0,
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  random: () => Math.random(),
});
