import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { tableText } from './table.mjs';

/** @param {unknown} data @returns {string} what Node prints */
function nodes(data) {
  let text = '';
  const stdout = new Writable({
    write(chunk, _, done) {
      text += chunk;
      done();
    },
  });
  new Console({ stdout, colorMode: false }).table(data);
  return text.trimEnd();
}

it('draws tables as Node does', () => {
  const lists = [
    [9, 27],
    [1.5, -3],
  ];
  const records = [{ a: 1, b: 'x' }, { b: 2 }];
  for (const data of [lists, records, [1, 'two'], { first: { a: 1 }, second: 3 }])
    expect(tableText(data)).toBe(nodes(data));
});
