import { expectTypeOf, test } from 'vitest';
import { optionReader, type OptionNames } from './index.js';

interface Options {
  readonly p?: number;
  readonly out?: object;
}

test('names are those of the type, all and no others', () => {
  const names: OptionNames<Options> = { p: true, out: true };
  // @ts-expect-error out is forgotten
  const forgotten: OptionNames<Options> = { p: true };
  // @ts-expect-error the type has no fillMode
  const surplus: OptionNames<Options> = { p: true, out: true, fillMode: true };
  expectTypeOf([names, forgotten, surplus]).not.toBeAny();
});

test('a reader gives the type it was given', () => {
  const options: Options = {};
  const read = optionReader((message) => new Error(message));
  expectTypeOf(read('f', options, { p: true, out: true })).toEqualTypeOf<Options>();
  // @ts-expect-error a list that is too short for the type
  read('f', options, { p: true });
});
