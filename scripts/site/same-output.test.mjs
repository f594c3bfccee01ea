import { expect, it } from 'vitest';
import { differences } from './same-output.mjs';

it('takes numbers that are near, and nothing else', () => {
  expect(differences('loss 0.1234 after 3\n', 'loss 0.1235 after 3')).toEqual([]);
  expect(differences('loss 0.13', 'loss 0.12')).toEqual(['"loss 0.13" is not "loss 0.12"']);
  expect(differences('1000.4', '1000')).toEqual([]);
  expect(differences('18 steps; off by 0.1', '17 steps; off by 0.1')).toEqual([]);
  expect(differences('34 steps; off by 0.1', '17 steps; off by 0.1')).toHaveLength(1);
  expect(differences('17 steps; off by 0.2', '17 steps; off by 0.1')).toHaveLength(1);
  expect(differences('a 1', 'b 1')).toHaveLength(1);
  expect(differences('1 2', '1')).toHaveLength(1);
  expect(differences('NaN', '1')).toHaveLength(1);
  expect(differences('one\ntwo', 'one')).toHaveLength(1);
});

it('leaves out times and plans, where both say some', () => {
  expect(differences('solve: 0.2 s', 'solve: 17.1 s')).toEqual([]);
  expect(differences('p = 1: cpu wasm128 tile 2x4', 'p = 1: cpu x86-64-v4 tile 6x4')).toEqual([]);
  expect(differences('solve: 0.2 s', 'solve: done')).toHaveLength(1);
});
