// A set-up file: `toEqual` compares typed arrays of one type number by number, to the same result. Vitest's own way makes a pair of the name and
// the value of every element, which takes some microseconds and 300 bytes each.

/** @typedef {Exclude<NodeJS.TypedArray, Buffer>} TypedArray */

const TYPED_ARRAY = Object.getPrototypeOf(Uint8Array);

/** @param {TypedArray} array */
const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);

/**
 * Whether both have the same elements; NaN is NaN, and 0 is not -0. Undefined where they are not typed arrays of one type.
 *
 * @param {unknown} a @param {unknown} b @returns {boolean | undefined}
 */
export function typedArraysEqual(a, b) {
  if (!(a instanceof TYPED_ARRAY && b instanceof TYPED_ARRAY)) return undefined;
  const [first, second] = /** @type {[TypedArray, TypedArray]} */ ([a, b]);
  if (first.constructor !== second.constructor) return undefined;
  if (first.length !== second.length) return false;
  return (
    bytesOf(first).equals(bytesOf(second)) ||
    // NaNs have several patterns of bits
    first.every((value, at) => Object.is(value, second[at]))
  );
}

// The list that `expect.addEqualityTesters` adds to. Vitest is not imported for it: this file runs in front of every other.
/** @type {{ customEqualityTesters: unknown[] } | undefined} */
const matchers = Reflect.get(globalThis, Symbol.for('$$jest-matchers-object'));
const testers = matchers?.customEqualityTesters;
// files that share a process share the list
const isThere = testers?.some(
  (one) => typeof one === 'function' && one.name === typedArraysEqual.name,
);
if (isThere === false) testers?.push(typedArraysEqual);
