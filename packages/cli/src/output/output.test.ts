import { describe, expect, it } from 'vitest';
import { colorsFor } from './color.js';
import { errorBlock, exitCodeOf } from './error-block.js';
import { formatBytes, formatMs, formatP, formatRate, formatShare, significant } from './format.js';
import { jsonText } from './json-text.js';
import { Output } from './output.js';
import { TransferProgress } from '../files/transfer-progress.js';
import { Progress } from './progress.js';
import { renderTable } from './table.js';

const plain = colorsFor({ isTTY: false }, {});

class Recorder {
  text = '';
  readonly columns = 40;
  constructor(readonly isTTY: boolean) {}
  write(text: string): void {
    this.text += text;
  }
}

describe('colorsFor', () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [false, { FORCE_COLOR: '1' }, true],
    [false, { FORCE_COLOR: '0' }, false],
    [true, { FORCE_COLOR: '1', NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
  ])('terminal %s with %j colours: %s', (isTTY, env, colours) => {
    expect(colorsFor({ isTTY }, env).red('x') !== 'x').toBe(colours);
  });
});

describe('format', () => {
  it('suits the unit to the size', () => {
    expect([0, 1023, 1536, 3 * 2 ** 30].map(formatBytes)).toEqual([
      '0 B',
      '1023 B',
      '1.50 KiB',
      '3.00 GiB',
    ]);
    expect([0.0123, 12.3, 12345, NaN].map(formatMs)).toEqual(['12.3 us', '12.3 ms', '12.3 s', '-']);
    expect([0.012, 0.5, 1, undefined].map(formatShare)).toEqual(['1.2%', '50%', '100%', '-']);
    expect([1.28e13, 950, NaN].map((rate) => formatRate(rate, 'op/s'))).toEqual([
      '12.8 Top/s',
      '950 op/s',
      '-',
    ]);
    expect([0, 123456, 0.5, 1e-9].map(significant)).toEqual(['0', '123456', '0.500', '1.00e-9']);
    expect([1.3, Infinity].map(formatP)).toEqual(['1.3', 'inf']);
  });
});

describe('jsonText', () => {
  it('keeps what JSON has no word for', () => {
    const value = { a: NaN, b: [Infinity, -Infinity], c: 2n ** 60n, d: new Map([['x', 1]]) };
    expect(JSON.parse(jsonText(value))).toEqual({
      a: 'nan',
      b: ['inf', '-inf'],
      c: '1152921504606846976',
      d: { x: 1 },
    });
  });
});

describe('renderTable', () => {
  it('aligns columns and leaves no blanks at the ends of lines', () => {
    const text = renderTable(
      [{ head: 'name' }, { head: 'n', align: 'right' }],
      [
        ['a', '1'],
        ['long', '12'],
      ],
      plain,
    );
    expect(text).toBe('name   n\na      1\nlong  12');
  });
});

describe('Progress', () => {
  it('is redrawn in place on a terminal, cut to its width, and removed', () => {
    const stream = new Recorder(true);
    let now = 0;
    const progress = new Progress(stream, plain, () => now);
    progress.update('x'.repeat(100), 1, 3);
    progress.update('too soon', 2, 3);
    now = 1000;
    progress.update('later', 2, 3);
    progress.clear();
    progress.clear();
    expect(stream.text.split('\r\u001b[2K')).toEqual([
      '',
      `[1/3] ${'x'.repeat(33)}`,
      '[2/3] later',
      '',
    ]);
  });

  it('shows bytes of files that are read together as a bar and a percentage', () => {
    const stream = new Recorder(true);
    let now = 0;
    const progress = new Progress(stream, plain, () => (now += 1000));
    const files = new TransferProgress(progress, 'reading');
    const [first, second] = [files.file(), files.file()];
    first.onProgress?.({ done: 1024, total: 4096 });
    second.onProgress?.({ done: 2048, total: 4096 });
    second.onProgress?.({ done: 2048, total: 0 }); // a pipe
    expect(stream.text.split('\r\u001b[2K')).toEqual(
      ['', 'reading [#####....', 'reading [#######...', 'reading 3.00 KiB'].map(
        (text) => expect.stringContaining(text) as unknown,
      ),
    );
    expect(stream.text).toContain('37% of 8');
  });

  it('is silent where there is no terminal', () => {
    const stream = new Recorder(false);
    const progress = new Progress(stream, plain);
    progress.update('x');
    progress.clear();
    expect(stream.text).toBe('');
  });
});

describe('errorBlock', () => {
  const error = Object.assign(
    new Error('what failed: why.\nHow to fix it.', { cause: new Error('deep') }),
    {
      code: 'SOME_CODE',
    },
  );

  it('shows message, code and causes, the stack for debug only', () => {
    expect(errorBlock(error, plain, false)).toBe(
      'error: what failed: why.\n  How to fix it.\n  code: SOME_CODE\n  caused by: deep\n',
    );
    expect(errorBlock(error, plain, true)).toMatch(/\n {4}at /);
  });

  it('leaves out a cause that the message repeats', () => {
    const repeats = new Error('cannot write: disk full. Make room.', {
      cause: new Error('disk full'),
    });
    expect(errorBlock(repeats, plain, false)).toBe('error: cannot write: disk full. Make room.\n');
  });

  it('takes anything that can be thrown, also a ring of causes', () => {
    const ring = new Error('ring');
    ring.cause = { message: 'odd' };
    expect(errorBlock('text', plain, false)).toBe('error: text\n');
    expect(errorBlock(undefined, plain, true)).toContain('error: undefined');
    expect(errorBlock(ring, plain, false)).toContain('caused by: [object Object]');
    const [a, b] = [new Error('a'), new Error('b')];
    a.cause = b;
    b.cause = a;
    expect(errorBlock(a, plain, true).length).toBeLessThan(20_000);
  });

  it('maps errors to exit statuses', () => {
    expect([error, { exitCode: 2 }, null, { exitCode: 0 }].map(exitCodeOf)).toEqual([1, 2, 1, 1]);
  });
});

describe('Output', () => {
  it('prints JSON alone on stdout and keeps notes for people', () => {
    const [stdout, stderr] = [new Recorder(false), new Recorder(false)];
    const json = new Output({ json: true, debug: false, stdout, stderr, env: {} });
    json.note('a remark');
    json.result({ x: 1 }, () => 'text');
    expect([JSON.parse(stdout.text), stderr.text]).toEqual([{ x: 1 }, '']);
    const text = new Output({ json: false, debug: false, stdout, stderr, env: {} });
    text.note('a remark');
    text.result({ x: 1 }, () => 'text\n\n');
    expect([stdout.text.endsWith('}\ntext\n'), stderr.text]).toEqual([true, 'a remark\n']);
  });
});
