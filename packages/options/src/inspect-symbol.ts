/** The name of a method that says how `console.log` shows an object: Node's `util.inspect.custom`, without Node. */
export const INSPECT: unique symbol = Symbol.for('nodejs.util.inspect.custom');
