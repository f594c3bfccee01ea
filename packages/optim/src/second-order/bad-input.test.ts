import { device } from '@mercer/tensor';
import { describe, expect, it } from 'vitest';
import { badInputSuite, REFUSED } from './bad-input-suite.test-support.js';

badInputSuite('the CPU', () => device('cpu'), {
  full: process.env['MERCER_TEST_FULL'] === '1',
});

describe('options of second order', () => {
  it.each(REFUSED)('refuse %s', (_, call, message) => {
    expect(call).toThrow(expect.objectContaining({ code: expect.any(String) as string }));
    expect(call).toThrow(message);
  });
});
