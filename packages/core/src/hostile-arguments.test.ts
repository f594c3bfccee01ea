import { isTensor, MercerError, tensor } from '@mercer/core';
import * as core from '@mercer/core';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterAll, beforeAll, expect, it } from 'vitest';

/** Values that no function asks for; each reads as something else where it is not looked at first. */
const HOSTILE: readonly unknown[] = [
  undefined,
  null,
  -1.5,
  'x',
  true,
  Symbol('s'),
  {},
  [],
  10n,
  [null],
  [Symbol('t')],
  Object.create(null),
];

type Callable = (...args: readonly unknown[]) => unknown;

/** Functions by name, also those of namespaces and their `prepare`; classes are made by functions. */
function functionsOf(value: object, prefix = ''): [name: string, call: Callable][] {
  return Object.entries(value).flatMap(([key, one]: [string, unknown]) => {
    const name = prefix + key;
    if (typeof one === 'function') {
      if (/^class\b/.test(Function.prototype.toString.call(one))) return [];
      const { prepare } = one as { readonly prepare?: unknown };
      const own: [string, Callable][] = [[name, one as Callable]];
      return typeof prepare === 'function'
        ? [...own, [`${name}.prepare`, (...args) => Reflect.apply(prepare, one, args) as unknown]]
        : own;
    }
    const isNamespace = typeof one === 'object' && one !== null && !isTensor(one);
    return isNamespace && prefix === '' ? functionsOf(one, `${name}.`) : [];
  });
}

/** They change the process, wait for other processes, or ask compilers. */
const LEFT_OUT = /^(joinGroup|cpu\.setThreads|cpu\.report|setDefaultDevice)$/;

// Some calls are good ones that write the file 'x'.
const before = process.cwd();
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-hostile-'));
  process.chdir(folder);
});
afterAll(async () => {
  process.chdir(before);
  await rm(folder, { recursive: true });
});

it('functions refuse what they cannot use in words of their own', async () => {
  using x = await tensor([
    [1, 2],
    [3, 4],
  ]);
  const lists = [
    [],
    ...HOSTILE.flatMap((one) => [
      [one],
      [x, one],
      [one, x],
      [x, x, one],
      [{}, one],
      [() => 1, one],
    ]),
  ];
  const functions = functionsOf(core).filter(([name]) => !LEFT_OUT.test(name));
  expect(functions.length).toBeGreaterThan(250);
  const foreign = new Set<string>();
  let refused = 0;
  for (const [name, call] of functions) {
    for (const list of lists) {
      try {
        const result = await call(...list);
        if (isTensor(result) && result !== x) result.dispose();
      } catch (error) {
        if (error instanceof MercerError) refused++;
        else foreign.add(`${name}: ${String(error)}`);
      }
      expect(x.disposed, name).toBe(false);
    }
  }
  expect([...foreign]).toEqual([]);
  expect(refused).toBeGreaterThan(10_000);
}, 300_000);
