// Of node:assert/strict: what the examples use.
import { inspect } from 'node-inspect-extracted';

export class AssertionError extends Error {}

/** @param {unknown} value @param {string} [message] */
function ok(value, message) {
  if (!value) throw new AssertionError(message ?? `${inspect(value)} is not true.`);
}

/** @param {unknown} actual @param {unknown} expected */
function equal(actual, expected) {
  ok(Object.is(actual, expected), `${inspect(actual)} is not ${inspect(expected)}.`);
}

const whole = (/** @type {unknown} */ value) =>
  inspect(value, { depth: Infinity, maxArrayLength: Infinity, sorted: true });

/** Of data: what looks the same is the same. @param {unknown} actual @param {unknown} expected */
function deepEqual(actual, expected) {
  ok(whole(actual) === whole(expected), `${inspect(actual)} is not ${inspect(expected)}.`);
}

export { deepEqual, equal, ok };
export default Object.assign(ok, {
  ok,
  equal,
  deepEqual,
  strictEqual: equal,
  deepStrictEqual: deepEqual,
});
