/** Names of the counts of refreshes that are calls: of an optimiser, or of each group. */
export const refreshCounts = (names: Iterable<string>): readonly string[] =>
  [...names].filter((name) => /(^|[^\w])refreshes$/.test(name));

/**
 * Why the tensors of a state are not those of an optimiser, where the one has preconditioners that are refreshed by calls, and the other has them refreshed in steps; undefined elsewhere.
 *
 * @param has names of the tensors that there are
 * @param wants those that the optimiser has
 */
export function otherRefreshes(
  where: string,
  has: Iterable<string>,
  wants: Iterable<string>,
): string | undefined {
  const [given, wanted] = [refreshCounts(has), refreshCounts(wants)];
  if (given.length === wanted.length) return undefined;
  const [own, other] = ["frequency: 'manual'", 'a frequency that counts steps'];
  const [made, now] = given.length > wanted.length ? [own, other] : [other, own];
  return `${where} is of an optimiser with ${made}, and this one has ${now}. Go on with ${made}; or begin anew with init(), the parameters being kept`;
}
