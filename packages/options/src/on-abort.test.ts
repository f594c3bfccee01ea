import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { onAbort } from './index.js';

it('calls all that wait, by one listener, and leaves none', () => {
  const controller = new AbortController();
  const { signal } = controller;
  const seen: number[] = [];
  const ends = Array.from({ length: 20 }, (_, at) => onAbort(signal, () => seen.push(at)));
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  for (const end of ends.slice(1, 19)) end();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  controller.abort();
  expect(seen).toEqual([0, 19]);
  ends[0]?.();
  ends[19]?.();
  ends[19]?.();
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

it('waits again after all have left', () => {
  const controller = new AbortController();
  onAbort(controller.signal, () => undefined)();
  const seen: string[] = [];
  const call = (): void => {
    seen.push('called');
  };
  const end = onAbort(controller.signal, call);
  onAbort(controller.signal, call);
  end();
  controller.abort();
  expect(seen).toEqual(['called']);
});
