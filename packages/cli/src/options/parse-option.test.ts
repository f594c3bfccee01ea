import { InvalidArgumentError } from 'commander';
import { describe, expect, it } from 'vitest';
import {
  parseBytes,
  parseChoice,
  parseCount,
  parseDevice,
  parseList,
  parseP,
  parseSeconds,
} from './parse-option.js';

describe('options', () => {
  it('read what is meant', () => {
    expect(['1', '0.5', '1e1', 'inf', 'Infinity'].map(parseP)).toEqual([
      1,
      0.5,
      10,
      Infinity,
      Infinity,
    ]);
    expect(['1', '30000'].map(parseCount)).toEqual([1, 30000]);
    expect(['0.5', '20'].map(parseSeconds)).toEqual([0.5, 20]);
    expect(['100', '1.5k', '500M', '2GiB', '3 gb', '7B'].map(parseBytes)).toEqual([
      100,
      1536,
      500 * 2 ** 20,
      2 ** 31,
      3 * 2 ** 30,
      7,
    ]);
    expect(['cpu', 'cuda', 'cuda:0', 'cuda:07'].map(parseDevice)).toEqual([
      'cpu',
      'cuda',
      'cuda:0',
      'cuda:7',
    ]);
    expect(parseList(parseP)('1, 2,inf')).toEqual([1, 2, Infinity]);
    expect(parseChoice(['a', 'b'])('b')).toBe('b');
  });

  it.each([
    ['p', parseP, ['', ' ', '0', '-1', 'NaN', 'x', '-inf']],
    ['count', parseCount, ['', '0', '-1', '1.5', '1e3', '99999999999999999999']],
    ['seconds', parseSeconds, ['', '0', '-1', 'inf', 'x']],
    ['bytes', parseBytes, ['', 'M', '-1', '1x', '1 2']],
    ['device', parseDevice, ['', 'gpu', 'cuda:', 'cuda:-1', 'cuda:1.5', 'cuda:9999']],
    ['list', parseList(parseP), ['', '1,,2', '1,']],
    ['choice', parseChoice(['a', 'b']), ['', 'c', 'toString']],
  ] as const)('%s refuses %3$j', (_, parse, texts) => {
    for (const text of texts) expect(() => parse(text)).toThrow(InvalidArgumentError);
  });
});
