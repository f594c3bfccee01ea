/** In the place of what reads and writes the store: a page has none, and its session never calls these. */
const unreached = (): never => {
  throw new Error('a page has no store');
};

export {
  unreached as countEntries,
  unreached as deleteEntry,
  unreached as dropFailure,
  unreached as dropFailures,
  unreached as dropOldLeases,
  unreached as entrySum,
  unreached as hasEntry,
  unreached as isOwnerDead,
  unreached as listEntries,
  unreached as listFailures,
  unreached as listKeys,
  unreached as noteFailure,
  unreached as putEntry,
  unreached as readEntry,
  unreached as readLease,
  unreached as readTuning,
  unreached as releaseLease,
  unreached as renewLease,
  unreached as takeLease,
  unreached as touchEntries,
  unreached as writeTuning,
};
export const LEASE_MS = 0;
