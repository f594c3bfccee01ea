import { spawn } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { BIN, mercer, mercerOneByOne, type BinRun } from '../testing/run-bin.test-support.js';

const ESCAPE = '\u001b';

/** A module that prints the URL of every other one that is loaded. */
const LIST_LOADED = (() => {
  const hooks =
    'export async function load(url, context, next) { process._rawDebug(url); return next(url, context); }';
  const asUrl = (text: string): string => `data:text/javascript,${encodeURIComponent(text)}`;
  return asUrl(
    `import { register } from 'node:module'; register(${JSON.stringify(asUrl(hooks))});`,
  );
})();

const WRONG: readonly (readonly [args: readonly string[], why: RegExp])[] = [
  [['no-such-command'], /unknown command 'no-such-command'/],
  [['doctor', '--no-such-option'], /unknown option '--no-such-option'/],
  [['cdist', 'a.npy', 'b.npy'], /required option '--out <file>'/],
  [['cdist', 'a.npy', '--out', 'd.npy'], /missing required argument 'B'/],
  [['cdist', 'a.npy', 'b.npy', '--out', 'd.npy', '--p', '-1'], /p must be a number above 0/],
  [['cdist', 'a.npy', 'b.npy', '--out', 'd.npy', '--p', 'NaN'], /p must be a number above 0/],
  [['cdist', 'a.npy', 'b.npy', '--out', 'd.npy', '--device', 'tpu'], /a device is cpu, cuda/],
  [['cdist', 'a.npy', 'b.npy', '--out', 'd.txt'], /End the name in \.npy/],
  [['cache', 'prune'], /required option '--max-bytes <size>'/],
  [['cache', 'prune', '--max-bytes', 'many'], /a size such as 500M/],
  [['bench', 'cdist', '--k', '3,,4'], /empty entry/],
  [['bench', 'cdist', '--m', '0'], /at least 1/],
  [['bench', 'kermac', '--operations', 'cdist,mma'], /'mma' is none of cdist, minkowski/],
  [['bench', 'linalg', '--operations', 'qr'], /'qr' is none of solveCholesky, solveLU/],
  [['kernel', 'a.npy', '--inner-operator', 'diff', '--out', 'k.npy'], /'--inner-power <power>'/],
  [['weighted-differences', 'a.npy', 'b.npy', '--out', 'g.npy'], /missing required argument 'C'/],
  [['cdist-grad', 'a.npy', 'b.npy', '--out', 'g.npy'], /missing required argument 'C'/],
  [['solve', 'a.npy', 'b.npy', '--out', 'x.npy', '--method', 'svd'], /cholesky, lu, qr/],
  [['reduce', '--formula', 'x|y'], /required option '--out <file>'/],
  [['eigh', 'a.npy', '--vectors', 'v.npy'], /required option '--values <file>'/],
  [['eigh', 'a.npy', '--values', 'w.npy', '--vectors', 'v.txt'], /End the name in \.npy/],
  [['demo', 'digits', '--p', '1,two'], /p must be a number above 0/],
  [['profile'], /missing required argument 'command'/],
];

describe('mercer', () => {
  let runs: readonly BinRun[] = [];
  beforeAll(async () => {
    runs = await mercerOneByOne(WRONG.map(([args]) => args));
  });

  it('prints its version and its help', async () => {
    const version = await mercer(['--version']);
    expect(version).toMatchObject({ status: 0, stderr: '' });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const report = await mercer(['--version', '--json']);
    expect(JSON.parse(report.stdout)).toEqual({
      version: version.stdout.trim(),
      core: expect.stringMatching(/^\d+\.\d+\.\d+$/) as unknown,
      node: process.version,
      platform: process.platform,
      arch: process.arch,
    });
    const cdist = await mercer(['cdist', '--help']);
    expect(cdist.stdout).toMatch(/\nExamples:\n {2}mercer cdist A\.npy B\.npy --out D\.npy\n/);
    const help = await mercer(['--help']);
    expect(help.status).toBe(0);
    for (const name of [
      'doctor',
      'cdist',
      'kernel',
      'weighted-differences',
      'reduce',
      'solve',
      'eigh',
      'convert',
      'plot',
      'completion',
      'cache',
      'bench',
      'profile',
      'train',
      'demo',
    ]) {
      expect(help.stdout).toContain(`\n  ${name}`);
    }
  });

  it('loads the library for the command that needs it, not for the help', async () => {
    const [help, version, solve] = await Promise.all(
      [['--help'], ['--version'], ['solve', '--help']].map(async (args) => {
        const { stdout, stderr } = await mercer(args, { NODE_OPTIONS: `--import ${LIST_LOADED}` });
        expect(stderr).toContain('/cli/dist/main.js');
        return { stdout, loaded: stderr.split('\n').filter((url) => url.includes('/core/dist/')) };
      }),
    );
    expect(help?.loaded).toEqual([]);
    expect(version?.loaded).toEqual([]);
    expect(solve?.loaded).not.toEqual([]);
    expect(help?.stdout).toContain('the x of A x = B');
    expect(solve?.stdout).toContain('the x of A x = B');
  });

  it.each(WRONG.map(([args, why], n) => [args, why, n] as const))(
    '%j is wrong usage: status 2, one block on stderr, nothing on stdout',
    (_, why, n) => {
      const run = runs[n];
      expect(run).toMatchObject({ status: 2, stdout: '' });
      expect(run?.stderr).toMatch(/^error: /);
      expect(run?.stderr).toMatch(why);
      expect(run?.stderr).not.toMatch(/\n\s+at /);
      expect(run?.stderr.split('\n').length).toBeLessThan(6);
    },
  );

  it('shows help on stderr with status 2 when no command is named', async () => {
    const run = await mercer([]);
    expect(run).toMatchObject({ status: 2, stdout: '' });
    expect(run.stderr).toContain('Usage: mercer');
  });

  it('fails with status 1 and a readable block, and shows the stack for --debug only', async () => {
    const args = ['cdist', 'no.npy', 'no.npy', '--out', 'd.npy'];
    const plain = await mercer(args);
    expect(plain).toMatchObject({ status: 1, stdout: '' });
    expect(plain.stderr).toMatch(
      /^error: Cannot read 'no\.npy': there is no such file or folder\. Check the path\.\n {2}code: NPY_NOT_FOUND\n/,
    );
    expect(plain.stderr).not.toMatch(/\n\s+at /);
    expect((await mercer([...args, '--debug'])).stderr).toMatch(/\n\s+at /);
  });

  it('colours only when asked or on a terminal, and never with NO_COLOR', async () => {
    const args = ['cache', 'stats'];
    expect((await mercer(['--nope'])).stderr).not.toContain(ESCAPE);
    expect((await mercer(['--nope'], { FORCE_COLOR: '1' })).stderr).toContain(ESCAPE);
    expect((await mercer(['--nope'], { FORCE_COLOR: '1', NO_COLOR: '1' })).stderr).not.toContain(
      ESCAPE,
    );
    expect(
      (await mercer(args, { FORCE_COLOR: '1', NO_COLOR: '1', MERCER_CACHE: 'off' })).stdout,
    ).not.toContain(ESCAPE);
  });

  it('ends quietly when its reader has seen enough', async () => {
    const child = spawn('sh', ['-c', `"${process.execPath}" "${BIN}" --help | head -n 1`], {
      stdio: 'pipe',
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    await new Promise((resolve) => child.on('close', resolve));
    expect(stderr).toBe('');
  });

  it('says what to do when it is not built', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mercer-unbuilt-'));
    await mkdir(join(folder, 'bin'));
    await writeFile(join(folder, 'package.json'), '{"type":"module"}');
    await copyFile(BIN, join(folder, 'bin', 'mercer.js'));
    const child = spawn(process.execPath, [join(folder, 'bin', 'mercer.js')], { stdio: 'pipe' });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const status = await new Promise((resolve) => child.on('close', resolve));
    await rm(folder, { recursive: true });
    expect(status).toBe(1);
    expect(stderr).toContain('npm run build');
  });
});
