/**
 * The pairs of values of two factors that no case has, for every two factors: what keeps an array of cases from covering all pairs.
 */
export function missingPairs(cases, factors) {
  const names = Object.keys(factors);
  return names.flatMap((one, at) =>
    names.slice(at + 1).flatMap((other) => {
      const met = new Set(cases.map((each) => `${each[one]} ${each[other]}`));
      return factors[one].flatMap((x) =>
        factors[other].flatMap((y) =>
          met.has(`${x} ${y}`) ? [] : [`${one} ${x} with ${other} ${y}`],
        ),
      );
    }),
  );
}
