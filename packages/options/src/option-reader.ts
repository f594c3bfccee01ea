import { describeValue } from './describe-value.js';
import { nearestName } from './nearest-name.js';
import { SYNONYMS } from './synonyms.js';

/** The names of an options type, each once: a name that is forgotten or that the type has not does not compile. */
export type OptionNames<O extends object> = { readonly [K in keyof Required<O>]: true };

/** Makes the error of a package from a message. */
export type Refuse = (message: string, cause?: unknown) => Error;

/**
 * Checks options at the face of a function and returns a copy of their own properties that has every name: what is not given is
 * undefined there, so that nothing is read from `Object.prototype`, also not from copies of the copy. Where there are no options it is one
 * frozen object for all calls.
 *
 * @param what the function, for messages
 * @param names beside the options type: `const NAMES: OptionNames<CdistOptions> = { p: true, out: true }`
 * @throws what the package's `Refuse` makes: for what is no object (null, an array, a number, a function), a name that there is
 * not, Symbols among them, properties that cannot be read, a Symbol or a revoked Proxy as a value, a `signal` that is none and an
 * `onProgress` that is no function.
 */
export interface OptionReader {
  <O extends object>(what: string, options: O | undefined, names: OptionNames<NoInfer<O>>): O;
  /** The same for one list of names, made once for calls that come often. */
  readonly of: <O extends object>(names: OptionNames<O>) => ReadOptions<O>;
}

/**
 * Reads options of one list of names: see {@link OptionReader}. They are copied to `into`, where there is such an object, which keeps the
 * values of those that are not given.
 */
export type ReadOptions<O extends object> = (what: string, options: O | undefined, into?: O) => O;

/**
 * How a package reads options: with errors of its own.
 *
 * @example
 * ```ts
 * import { optionReader, type OptionNames } from '@mercer/options';
 *
 * interface BlurOptions {
 *   readonly radius?: number;
 *   readonly out?: Float32Array;
 * }
 * const BLUR_OPTIONS: OptionNames<BlurOptions> = { radius: true, out: true };
 * const readOptions = optionReader((message, cause) => new RangeError(message, { cause }));
 *
 * function blur(options?: BlurOptions): number {
 *   const { radius = 2 } = readOptions('blur', options, BLUR_OPTIONS);
 *   return radius;
 * }
 * console.log(blur({ radius: 3 })); // 3
 * try {
 *   blur({ Radius: 3 } as BlurOptions);
 * } catch (error) {
 *   console.log(String(error)); // RangeError: blur: there is no option 'Radius'. Did you mean 'radius'? The options are radius, out.
 * }
 * ```
 */
export function optionReader(refuse: Refuse): OptionReader {
  const readers = new WeakMap<object, ReadAny>();
  const readerOf = <O extends object>(names: OptionNames<O>): ReadOptions<O> => {
    let reader = readers.get(names);
    if (reader === undefined) readers.set(names, (reader = readerFor(refuse, names)));
    return reader as ReadOptions<O>;
  };
  const read = <O extends object>(
    what: string,
    options: O | undefined,
    names: OptionNames<NoInfer<O>>,
  ): O => readerOf<O>(names)(what, options);
  return Object.assign(read, { of: readerOf });
}

type ReadAny = (what: string, options: object | undefined, into?: object) => object;

function readerFor(refuse: Refuse, names: object): ReadAny {
  // Options of which none is given, of one shape for engines to optimise.
  const blank = Object.fromEntries(Object.keys(names).map((name) => [name, undefined]));
  const none = Object.freeze({ ...blank });
  return (what, options, into) => {
    if (options === undefined) return into ?? none;
    const own = (into ?? { ...blank }) as Record<string, unknown>;
    let fault: string | undefined;
    let cause: unknown;
    try {
      fault = isOptions(options) ? undefined : noOptions(options, names);
      if (fault === undefined) {
        fault = readEach(options as Record<string, unknown>, names, own);
      }
    } catch (thrown) {
      fault = 'the options cannot be read: a getter or a Proxy threw. Pass a plain object';
      cause = thrown;
    }
    if (fault === undefined) return own;
    throw refuse(`${what}: ${fault}.`, cause);
  };
}

/** Copies the values of options to `own`; says what is wrong with them. */
function readEach(
  options: Readonly<Record<string, unknown>>,
  names: object,
  own: Record<string, unknown>,
): string | undefined {
  const unknown = (key: PropertyKey): string =>
    isPlain(options) ? noSuchOption(String(key), names) : noOptions(options, names);
  // names and Symbols: quicker than both from Reflect.ownKeys
  for (const key of Object.getOwnPropertyNames(options)) {
    if (!Object.hasOwn(names, key)) return unknown(key);
    const value = options[key];
    const fault = faultOf(key, value);
    if (fault !== undefined) return fault;
    if (value !== undefined) own[key] = value;
  }
  const symbol = Object.getOwnPropertySymbols(options)[0];
  return symbol === undefined ? undefined : unknown(symbol);
}

/** What is wrong with the values that mean the same in every call, and with those that no option takes. Throws for a revoked Proxy. */
function faultOf(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'symbol')
    return `${name} is ${describeValue(value)}. No option takes a Symbol`;
  // eslint-disable-next-line @typescript-eslint/no-unused-expressions -- throws for a revoked Proxy; bundlers drop Array.isArray(value)
  if (typeof value === 'object') value?.constructor;
  if (name === 'signal') {
    const { throwIfAborted } = Object(value) as Partial<AbortSignal>;
    if (typeof throwIfAborted === 'function') return undefined;
    return `signal is ${describeValue(value)}. Pass an AbortSignal, such as controller.signal`;
  }
  if (name !== 'onProgress' || typeof value === 'function') return undefined;
  return `onProgress is ${describeValue(value)}. Pass a function, which is given { done, total }`;
}

/** Whether a value may hold options: an object that is neither an array nor one of the language's containers. */
function isOptions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isPlain(value) || Object.prototype.toString.call(value) === '[object Object]';
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function noOptions(value: unknown, names: object): string {
  const known = Object.keys(names);
  const meant =
    Array.isArray(value) && known.includes('shape')
      ? `Did you mean { shape: [${value.slice(0, 8).map(describeValue).join(', ')}] }? `
      : '';
  return `expected an object of options, got ${describeValue(value)}. ${meant}${listed(known)}`;
}

function noSuchOption(name: string, names: object): string {
  const known = Object.keys(names);
  const meant =
    SYNONYMS.get(name.toLowerCase())?.find((here) => known.includes(here)) ??
    nearestName(name, known);
  const shown = name.length > 40 ? `${name.slice(0, 40)}...` : name;
  const hint = meant === undefined ? '' : `Did you mean '${meant}'? `;
  return `there is no option '${shown}'. ${hint}${listed(known)}`;
}

const listed = (known: readonly string[]): string =>
  known.length === 0 ? 'There are no options' : `The options are ${known.join(', ')}`;
