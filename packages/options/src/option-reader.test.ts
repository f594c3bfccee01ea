import { describe, expect, it } from 'vitest';
import { describeValue, nearestName, optionReader, type OptionNames } from './index.js';

interface Options {
  readonly p?: number;
  readonly out?: object;
  readonly uplo?: 'upper' | 'lower';
  readonly shape?: readonly number[];
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: { readonly done: number }) => void;
}

class Refused extends Error {
  readonly code = 'INVALID_ARGUMENT';
}

const NAMES: OptionNames<Options> = {
  p: true,
  out: true,
  uplo: true,
  shape: true,
  signal: true,
  onProgress: true,
};
const readOptions = optionReader((message, cause) => new Refused(message, { cause }));
const read = (options: unknown): Options => readOptions('f', options as Options, NAMES);

describe('an option reader', () => {
  it('gives own properties, each read once, and nothing where there are no options', () => {
    let reads = 0;
    const given = {
      get p() {
        return ++reads;
      },
      out: undefined,
    };
    const { p, out, uplo } = read(given);
    expect([p, out, uplo, reads]).toEqual([1, undefined, undefined, 1]);
    expect(read(undefined).p).toBeUndefined();
  });

  it('gives one frozen object to all calls without options, and each of the others its own', () => {
    const none = read(undefined);
    expect(read(undefined)).toBe(none);
    expect(Object.isFrozen(none)).toBe(true);
    expect(read({})).not.toBe(none);
    expect(Object.isFrozen(read({}))).toBe(false);
  });

  it('copies to an object that has values for what is not given', () => {
    const readInto = readOptions.of(NAMES);
    const into = { p: 1, uplo: 'upper' } as const;
    const given = { ...into };
    expect(readInto('f', { p: undefined, uplo: 'lower' } as never, given)).toBe(given);
    expect(given).toEqual({ p: 1, uplo: 'lower' });
    expect(readInto('f', undefined, given)).toBe(given);
  });

  it('lets no property of Object.prototype through, nor of any other prototype', () => {
    const polluted = Object.prototype as { p?: number };
    polluted.p = 1;
    try {
      expect(read({}).p).toBeUndefined();
      expect(read(undefined).p).toBeUndefined();
      expect(read({ uplo: 'upper' }).p).toBeUndefined();
      expect({ ...read({}) }.p).toBeUndefined();
    } finally {
      delete polluted.p;
    }
    expect(read(Object.create({ p: 3 })).p).toBeUndefined();
    expect(read(Object.assign(Object.create(null) as object, { p: 3 })).p).toBe(3);
  });

  it.each<[options: unknown, message: string]>([
    [
      { P: 1 },
      "f: there is no option 'P'. Did you mean 'p'? The options are p, out, uplo, shape, signal, onProgress.",
    ],
    [{ fillMode: 1 }, "there is no option 'fillMode'. Did you mean 'uplo'?"],
    [{ ouput: 1 }, "there is no option 'ouput'. Did you mean 'out'?"],
    [{ metric: 1 }, "there is no option 'metric'. Did you mean 'p'?"],
    [{ unheardOf: undefined }, "there is no option 'unheardOf'. The options are p,"],
    [{ [Symbol('p')]: 1 }, "there is no option 'Symbol(p)'"],
    [{ constructor: 1 }, "there is no option 'constructor'"],
    [JSON.parse('{ "__proto__": 1 }'), "there is no option '__proto__'"],
    [Object.defineProperty({}, 'hidden', { value: 1 }), "there is no option 'hidden'"],
    [{ ['x'.repeat(1e6)]: 1 }, `there is no option '${'x'.repeat(40)}...'`],
    [null, 'f: expected an object of options, got null. The options are p,'],
    [Symbol('s'), 'expected an object of options, got Symbol(s)'],
    [5, 'expected an object of options, got 5'],
    ['p', 'expected an object of options, got "p"'],
    [5n, 'expected an object of options, got 5n'],
    [() => 1, 'expected an object of options, got a function'],
    [[2, 3], 'got an array of 2. Did you mean { shape: [2, 3] }?'],
    [new Float32Array(3), 'got a Float32Array of 12 bytes'],
    [new Map([['p', 1]]), 'expected an object of options, got a Map'],
    [new Refused('r'), 'expected an object of options, got a Refused. The options are p,'],
    [Promise.resolve({}), 'expected an object of options, got a Promise'],
  ])('refuses %o', (options, message) => {
    expect(() => read(options)).toThrow(Refused);
    expect(() => read(options)).toThrow(message);
  });

  it('refuses a signal that is none, and an onProgress that is no function', () => {
    const { signal } = new AbortController();
    expect(read({ signal, onProgress: undefined }).signal).toBe(signal);
    for (const odd of [new AbortController(), null, 'now', 7, {}]) {
      expect(() => read({ signal: odd })).toThrow(
        /^f: signal is .*\. Pass an AbortSignal, such as controller\.signal\.$/,
      );
    }
    for (const odd of [null, 7, {}]) {
      expect(() => read({ onProgress: odd })).toThrow(/^f: onProgress is .*\. Pass a function/);
    }
  });

  it('refuses what cannot be read, with the cause', () => {
    const thrown = new Error('getter');
    const getter = {
      get p() {
        throw thrown;
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const trap = new Proxy(
      {},
      {
        ownKeys() {
          throw thrown;
        },
      },
    );
    for (const options of [getter, proxy, trap]) {
      expect(() => read(options)).toThrow(/^f: the options cannot be read/);
    }
    expect(() => read(getter)).toThrow(expect.objectContaining({ cause: thrown }));
  });
});

describe('messages', () => {
  it('name the nearest name whatever its case, and none that is far', () => {
    expect(nearestName('Bandwith', ['p', 'bandwidth'])).toBe('bandwidth');
    expect(nearestName('colour', ['p', 'bandwidth'])).toBeUndefined();
  });

  it('name every value without reading from it', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect([undefined, null, NaN, true, proxy, 'x'.repeat(50), [1]].map(describeValue)).toEqual([
      'undefined',
      'null',
      'NaN',
      'true',
      'an object that cannot be read',
      `"${'x'.repeat(40)}..."`,
      'an array of 1',
    ]);
  });
});
