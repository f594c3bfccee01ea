// Compares what a program prints in two places: words are equal, numbers nearly, and what depends on the machine is left out.

/** Rounding differs, and grows in what is iterated. */
const TOLERANCE = 2e-3;
const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g;
/** Of iterations, which end by a bound that is met a little earlier or later. */
const STEPS = /\b\d+(?= steps\b)/g;
const STEPS_TOLERANCE = 0.1;
/** Times, plans for a machine, memory. */
const OF_THE_MACHINE =
  /\b\d+(?:\.\d+)? ?(?:s|ms)\b|\bcpu (?:x86|arm|wasm)|bytes live|% of the time/;

const linesOf = (/** @type {string} */ text) => text.trim().split('\n');

/** @param {string} got @param {string} wanted of one line */
function isSame(got, wanted) {
  if (got === wanted) return true;
  const shape = (/** @type {string} */ line) =>
    line.replaceAll(NUMBER, '#').replaceAll(/[ ─]+/g, ' ');
  if (shape(got) !== shape(wanted)) return false;
  const [steps, others] = [got, wanted].map((line) => (line.match(STEPS) ?? []).map(Number));
  const areStepsNear = (steps ?? []).every(
    (one, at) => Math.abs(one - (others?.[at] ?? NaN)) <= Math.max(1, STEPS_TOLERANCE * one),
  );
  const [a, b] = [got, wanted].map((line) =>
    (line.replaceAll(STEPS, '').match(NUMBER) ?? []).map(Number),
  );
  return (
    areStepsNear &&
    (a ?? []).every((one, at) => {
      const other = b?.[at] ?? NaN;
      return Math.abs(one - other) <= TOLERANCE * Math.max(1, Math.abs(one), Math.abs(other));
    })
  );
}

/** @param {string} got @param {string} wanted @returns {string[]} lines that differ */
export function differences(got, wanted) {
  const [ours, theirs] = [linesOf(got), linesOf(wanted)];
  if (ours.length !== theirs.length)
    return [`it prints ${ours.length} lines, not ${theirs.length}: ${got}`];
  return ours.flatMap((line, at) => {
    const other = String(theirs[at]);
    const isLeftOut = OF_THE_MACHINE.test(line) && OF_THE_MACHINE.test(other);
    return isLeftOut || isSame(line, other) ? [] : [`"${line}" is not "${other}"`];
  });
}
