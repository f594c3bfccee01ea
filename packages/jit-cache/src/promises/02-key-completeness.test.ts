import { tmpdir } from 'node:os';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cacheKey } from '../key.js';
import { fakeToolchain } from '../testing/fake-toolchain.test-support.js';
import type { CompileUnit, Toolchain } from '../types.js';

const text = fc.string({ unit: 'binary', maxLength: 12 });
const option = fc.record({
  name: text,
  value: fc.oneof(fc.boolean(), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
});
const unitOf: fc.Arbitrary<CompileUnit> = fc.record({
  language: fc.constantFrom('cuda', 'c++'),
  source: text,
  options: fc.array(option, { maxLength: 4 }),
  target: text,
  names: fc.array(text, { minLength: 1, maxLength: 4 }),
});

type Side = readonly [unit: CompileUnit, identity: string, generator: string];

function hex(unit: CompileUnit, identity = 'id', generator = 'g'): string {
  return cacheKey(unit, fakeToolchain({ identity }), generator).hex;
}

/** What the key must tell apart, in an independent form. UTF-8 is what a compiler gets to see. */
function meaning(unit: CompileUnit, identity: string, generator: string): string {
  const seen = (value: string): string => Buffer.from(value, 'utf8').toString('hex');
  return JSON.stringify([
    unit.language,
    seen(unit.source),
    unit.options.map(({ name, value }) => [
      seen(name),
      typeof value,
      Object.is(value, -0) ? '0' : String(value),
    ]),
    seen(unit.target),
    [...new Set(unit.names)].map(seen).sort(),
    seen(identity),
    seen(generator),
  ]);
}

test('two keys are equal exactly when everything that is compiled is equal', () => {
  const side = fc.tuple(unitOf, text, text);
  const close: fc.Arbitrary<[Side, Side]> = side.chain(([unit, identity, generator]) =>
    // A neighbour: one field exchanged, or the text of two fields shifted across their border.
    fc.tuple(
      fc.constant([unit, identity, generator] as const),
      fc.oneof(
        unitOf.map(({ source }) => [{ ...unit, source }, identity, generator] as const),
        unitOf.map(({ options }) => [{ ...unit, options }, identity, generator] as const),
        fc.constant([
          { ...unit, options: [...unit.options].reverse() },
          identity,
          generator,
        ] as const),
        unitOf.map(({ names }) => [{ ...unit, names }, identity, generator] as const),
        fc.constant([{ ...unit, names: [...unit.names].reverse() }, identity, generator] as const),
        unitOf.map(({ language }) => [{ ...unit, language }, identity, generator] as const),
        text.map((target) => [{ ...unit, target }, identity, generator] as const),
        text.map((other) => [unit, other, generator] as const),
        text.map((other) => [unit, identity, other] as const),
        fc.constant([
          { ...unit, target: unit.target + identity.slice(0, 1) },
          identity.slice(1),
          generator,
        ] as const),
        fc.constant([
          {
            ...unit,
            source: `${unit.names[0] ?? ''}${unit.source}`,
            names: [...unit.names.slice(1), ''],
          },
          identity,
          generator,
        ] as const),
      ),
    ),
  );
  let different = 0;
  let same = 0;
  fc.assert(
    fc.property(close, ([one, other]) => {
      const equalKeys = hex(...one) === hex(...other);
      const equalMeaning = meaning(...one) === meaning(...other);
      if (equalMeaning) same++;
      else different++;
      expect(equalKeys).toBe(equalMeaning);
    }),
    { numRuns: 2000, seed: 7, endOnFailure: true },
  );
  expect(Math.min(same, different)).toBeGreaterThan(20);
});

const base: CompileUnit = {
  language: 'cuda',
  source: 'extern "C" __global__ void f() {}',
  options: [
    { name: 'fmad', value: true },
    { name: 'maxrregcount', value: 64 },
  ],
  target: 'sm_90a',
  names: ['f', 'g'],
};

const changes: Record<string, [CompileUnit, string?, string?]> = {
  'a byte of the source': [{ ...base, source: `${base.source} ` }],
  'the value of an option': [
    { ...base, options: [{ name: 'fmad', value: false }, ...base.options.slice(1)] },
  ],
  'the kind of a value': [
    { ...base, options: [{ name: 'fmad', value: 1 }, ...base.options.slice(1)] },
  ],
  'the order of the options': [{ ...base, options: [...base.options].reverse() }],
  'one option fewer': [{ ...base, options: base.options.slice(1) }],
  'the suffix of the architecture': [{ ...base, target: 'sm_90' }],
  'PTX instead of a cubin': [{ ...base, target: 'compute_90' }],
  'the language': [{ ...base, language: 'c++' }],
  'another wanted name': [{ ...base, names: ['f', 'h'] }],
  'the toolchain': [base, 'nvrtc 13.1'],
  'the generator': [base, 'id', '2'],
  'text moved from one option to the next': [
    { ...base, options: [{ name: 'fmad=boolean:truemaxrregcount', value: 64 }] },
  ],
};

test.each(Object.entries(changes))('another key for %s', (_, [unit, identity, generator]) => {
  expect(hex(unit, identity, generator)).not.toBe(hex(base));
});

test('borders between fields and between list items count', () => {
  const named = (...names: string[]): string => hex({ ...base, names });
  expect(named('a', 'bc')).not.toBe(named('ab', 'c'));
  expect(named('ab')).not.toBe(named('a', 'b'));
  const moved = (target: string, identity: string): string => hex({ ...base, target }, identity);
  expect(moved('sm_9', '0x')).not.toBe(moved('sm_90', 'x'));
});

test('PTX gets the driver into its key, a cubin does not', () => {
  const with1: Toolchain = {
    ...fakeToolchain(),
    identityFor: (target) => (target.startsWith('compute') ? 'id; driver 1' : 'id'),
  };
  const with2: Toolchain = {
    ...fakeToolchain(),
    identityFor: (target) => (target.startsWith('compute') ? 'id; driver 2' : 'id'),
  };
  const ptx = { ...base, target: 'compute_90' };
  expect(cacheKey(ptx, with1).hex).not.toBe(cacheKey(ptx, with2).hex);
  expect(cacheKey(base, with1).hex).toBe(cacheKey(base, with2).hex);
});

test('nothing else: folder, environment, order and repetition of names, identity of objects', () => {
  const before = hex(base);
  const folder = process.cwd();
  process.env['CUDA_VISIBLE_DEVICES'] = '3';
  try {
    expect(hex(structuredClone(base))).toBe(before);
    expect(hex({ ...base, names: ['g', 'f', 'g'] })).toBe(before);
    // Workers of a test runner may not change their folder; the key must not look at it anyway.
    process.env['PWD'] = tmpdir();
    expect(hex(base)).toBe(before);
  } finally {
    process.env['PWD'] = folder;
    delete process.env['CUDA_VISIBLE_DEVICES'];
  }
});

test('keys stay what they are from release to release', () => {
  expect(hex(base)).toMatchInlineSnapshot(
    `"545d6c2e8ee63d5a7d4cf46cbf6c828f84e851a72fcaa5388eff245e72a6ae01"`,
  );
  expect(
    hex({ ...base, options: [], names: ['f'], target: 'x86-64-v4', language: 'c++' }),
  ).toMatchInlineSnapshot(`"02201282220533ef9b5a6a1ca40b340bffb0a8d61800b085d8e8a717e3570e0a"`);
});
