import { AsyncLocalStorage as NodeStorage } from 'node:async_hooks';
import { Buffer as NodeBuffer } from 'node:buffer';
import { createHash as nodeHash } from 'node:crypto';
import { inspect as nodeInspect } from 'node:util';
import { expect, it } from 'vitest';
import { MercerError } from '../mercer-error.js';
import * as browser from './index.js';
import { setImmediate as turn, setTimeout as later } from './timers-promises.js';

const { AsyncLocalStorage, Buffer, createHash, inspect, setImmediate, types } = browser;

/** Bytes that differ, the same in each run. */
const bytes = (length: number): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length }, (_, i) => (i * i * 31 + 7 * i) % 256);

it('SHA-256 is that of Node, for messages around the ends of blocks and in parts', () => {
  for (const length of [0, 1, 3, 55, 56, 57, 63, 64, 65, 119, 120, 128, 1000]) {
    const message = bytes(length);
    const wanted = nodeHash('sha256').update(message);
    expect(createHash('sha256').update(message).digest('hex')).toBe(wanted.digest('hex'));
  }
  const text = 'Kernmaschinen, à la Mercer ∑';
  const parts = [text.slice(0, 9), text.slice(9)];
  const made = createHash('sha256');
  for (const part of parts) made.update(part);
  expect(made.digest('base64')).toBe(nodeHash('sha256').update(text).digest('base64'));
  expect([...createHash('sha256').digest()]).toEqual([...nodeHash('sha256').digest()]);
});

it('a part that changes after it was hashed changes nothing', () => {
  const part = bytes(10);
  const made = createHash('sha256').update(part);
  part.fill(0);
  expect(made.digest('hex')).toBe(nodeHash('sha256').update(bytes(10)).digest('hex'));
});

it('Buffer is as that of Node', () => {
  const make = (Kind: typeof NodeBuffer | typeof Buffer): unknown[] => {
    const B = Kind as typeof Buffer;
    const given = bytes(21);
    const number = B.alloc(8);
    number.writeBigUInt64LE(0x0102030405060708n);
    return [
      [...B.alloc(5)],
      [...B.alloc(7, 'ab')],
      [...B.alloc(5, Uint8Array.of(1, 2, 3, 4))],
      [...B.from('grüße')],
      [...B.from('00ff10', 'hex')],
      [...B.from('AAECAw==', 'base64')],
      [...B.from('\xff\x01', 'latin1')],
      [...B.from(given.buffer, 3, 4)],
      [...B.from([1, 2, 300])],
      ...(['hex', 'base64', 'latin1'] as const).map((encoding) => B.from(given).toString(encoding)),
      B.from('grüße').toString(),
      [...B.concat([given, Uint8Array.of(9)])],
      [[1, 2], [1, 3], [1], [1, 2, 0]].map((other) =>
        B.compare(Uint8Array.of(1, 2), Uint8Array.from(other)),
      ),
      [...number],
      ...[B.from(bytes(8)).swap16(), B.from(bytes(8)).swap32(), B.from(bytes(8)).swap64()].map(
        (swapped) => [...swapped],
      ),
    ];
  };
  expect(make(Buffer)).toEqual(make(NodeBuffer));
});

it('shows values as Node does, on one line', () => {
  class Own {
    [inspect.custom](): string {
      return 'Own(3)';
    }
  }
  const shown = [1, -0, 2n, 'a', null, undefined, true, [], [1, [2, 3]], {}, { a: [1], b: 'x' }];
  for (const value of [...shown, [new Own()], new Own()])
    expect(inspect(value)).toBe(nodeInspect(value));
  expect(inspect(Float32Array.of(1, 2))).toBe('[ 1, 2 ]');
});

it('tells promises and buffers', () => {
  expect(types.isPromise(Promise.resolve())).toBe(true);
  expect(types.isPromise({ then: () => undefined })).toBe(false);
  expect(types.isArrayBuffer(new ArrayBuffer(1))).toBe(true);
  expect(types.isArrayBuffer(new Uint8Array(1))).toBe(false);
});

it('a turn comes after promises and before timers of some milliseconds, in the order of asking', async () => {
  const order: string[] = [];
  const slow = later(20).then(() => order.push('timer'));
  setImmediate(() => order.push('first'));
  setImmediate(() => {
    order.push('second');
    setImmediate(() => order.push('fourth'));
  });
  const third = turn().then(() => order.push('third'));
  await Promise.resolve().then(() => order.push('promise'));
  await third;
  await slow;
  expect(order).toEqual(['promise', 'first', 'second', 'third', 'fourth', 'timer']);
});

it('a store is there while a function runs, and only then', () => {
  for (const Kind of [AsyncLocalStorage, NodeStorage] as const) {
    const storage = new (Kind as typeof AsyncLocalStorage)<number>();
    const seen = storage.run(1, () => [
      storage.getStore(),
      storage.run(2, () => storage.getStore()),
      storage.getStore(),
    ]);
    expect([...seen, storage.getStore()]).toEqual([1, 2, 1, undefined]);
    expect(() => storage.run(3, () => fail())).toThrow('as asked');
    expect(storage.getStore()).toBeUndefined();
  }
});

function fail(): never {
  throw new Error('as asked');
}

it('files and CUDA are refused in words', () => {
  const refused = [browser.open, browser.readFileSync, browser.crc32] as (() => never)[];
  for (const call of refused) {
    expect(call).toThrow(MercerError);
    expect(call).toThrow(/a page reaches no files/);
  }
  expect(browser.noCuda).toThrow(expect.objectContaining({ code: 'NO_BACKEND' }));
});
