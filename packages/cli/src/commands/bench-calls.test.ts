import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonThat } from '../testing/python-that.test-support.js';
import { mercer, mercerJson } from '../testing/run-bin.test-support.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mercer-bench-calls-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('mercer bench calls', () => {
  it('times ordinary and prepared calls, and shows the peers beside them', async () => {
    const times = '{"median":7.5,"p10":7,"p90":9,"count":150}';
    const line = `{"versions":{"torch":"0"},"missing":["keops: none"],"calls":[{"call":"map","peer":"torch","idleUs":${times}},{"call":"matmul","peer":"torch","idleUs":${times}}]}`;
    const python = await pythonThat(folder, `echo chatter; echo '${line}'`);
    const out = join(folder, 'calls.json');
    const options = ['--operations', 'map,cdist', '--device', 'cpu'];
    const report = (await mercerJson([
      ...['bench', 'calls', ...options],
      ...['--python', python, '--out', out],
    ])) as {
      calls: { call: string; ordinary: { idleUs: { median: number } }; prepared: object }[];
      peers: { calls: object[] };
    };
    expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(report);
    expect(report).toMatchObject({ schema: 1, suite: 'calls', device: { id: 'cpu' } });
    expect(report.calls.map(({ call }) => call)).toEqual(['map', 'cdist']);
    for (const { ordinary, prepared } of report.calls) {
      expect(ordinary.idleUs.median).toBeGreaterThan(0);
      expect(ordinary).not.toHaveProperty('busyUs');
      expect(prepared).toMatchObject({ idleUs: { count: 150 } });
    }
    expect(report.peers).toEqual({
      versions: { torch: '0' },
      missing: ['keops: none'],
      calls: [{ call: 'map', peer: 'torch', idleUs: JSON.parse(times) as unknown }],
    });
    const { stdout } = await mercer(['bench', 'calls', ...options, '--brief', '--python', python]);
    expect(stdout).toMatch(/map\s.*mercer, prepared\s/);
    expect(stdout).toMatch(/map\s.*torch\s.*7\.50? us/);
    expect(stdout).toMatch(/Not measured: keops: none/);
  });

  it('takes a tenth of the rounds with --brief', async () => {
    const args = ['bench', 'calls', '--operations', 'sumTo', '--device', 'cpu', '--no-peers'];
    expect(await mercerJson([...args, '--brief'])).toMatchObject({
      command: expect.stringMatching(/ --brief\b/) as string,
      calls: [{ call: 'sumTo', ordinary: { idleUs: { count: 15 } } }],
    });
  });

  it('says what stands in the way of peers', async () => {
    const python = await pythonThat(folder, 'echo broken >&2; exit 3');
    const args = ['bench', 'calls', '--operations', 'matmul', '--device', 'cpu', '--brief'];
    const { status, stdout } = await mercer([...args, '--python', python]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/matmul\s.*mercer/);
    expect(stdout).toMatch(/Not measured: .*Command failed/);
    // one peer takes the process down, after another's figures were said
    const times = '{"median":7.5,"p10":7,"p90":9,"count":150}';
    const line = `{"versions":{"torch":"0"},"missing":[],"calls":[{"call":"matmul","peer":"torch","idleUs":${times}}]}`;
    const crashed = await pythonThat(folder, `echo '${line}'; kill -SEGV $$`);
    const after = await mercer([...args, '--python', crashed]);
    expect(after.stdout).toMatch(/matmul\s.*torch\s.*7\.50? us/);
    expect(after.stdout).toMatch(/Not measured: .*Command failed/);
    const silent = await mercer([...args, '--python', await pythonThat(folder, 'exit 0')]);
    expect(silent.stdout).toMatch(/Not measured: .*gave no answer/);
    const wrong = await mercer(['bench', 'calls', '--operations', 'cdists']);
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toMatch(/cdists/);
  });
});
