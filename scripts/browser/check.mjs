// Bundles a program that imports @mercer/core with esbuild and with Vite, out of packages as they are published, runs both in Chromium and compares
// what they give with loops in float64. No Node built-in may be left in a bundle, nothing of CUDA's libraries, and what a page loads has a size
// that it may have. `node scripts/browser/check.mjs`; where Chromium or WebAssembly is missing it says so.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import install, { FOLDER } from '../lib/installed.mjs';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from '../site/browser.mjs';
import { serve } from '../site/serve.mjs';
import { bundlers, pageOf, SCRIPT, sizes } from './bundles.mjs';
import { expected, where } from './expected.mjs';

const TOLERANCE = 1e-9;
const LONGEST_MS = 30_000;
const WASM = 'mercer_cpu.wasm';
/** Kilobytes of a page that uses all of core, compressed by brotli. */
const MOST_KB = 400;

/** With these a page may share memory with its workers. */
const ISOLATED = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
};

/** @type {string[]} */
const problems = [];

/** @param {unknown} got @param {unknown} wanted @returns {boolean} numbers within the tolerance */
function isClose(got, wanted) {
  if (typeof wanted === 'number')
    return typeof got === 'number' && Math.abs(got - wanted) <= TOLERANCE * (1 + Math.abs(wanted));
  if (!Array.isArray(wanted)) return isDeepStrictEqual(got, wanted);
  return (
    Array.isArray(got) &&
    got.length === wanted.length &&
    wanted.every((one, i) => isClose(got[i], one))
  );
}

/** @param {string} name @param {any} outcome @param {boolean} isolated whether its page is */
function compare(name, outcome, isolated) {
  if (outcome.failed !== undefined) {
    problems.push(`${name}: ${outcome.failed}`);
    return;
  }
  const threads = { isolated, several: isolated, helped: isolated, same: true };
  for (const [what, wanted] of Object.entries({ ...expected, where, threads })) {
    if (!isClose(outcome[what], wanted))
      problems.push(
        `${name}: ${what} is ${JSON.stringify(outcome[what])}, not ${JSON.stringify(wanted)}`,
      );
  }
  const [code, message] = outcome.error || [];
  if (code !== 'SHAPE_MISMATCH' || !/3.*1|1.*3/.test(message))
    problems.push(`${name}: an error says ${JSON.stringify(outcome.error)}`);
}

/** @param {string} name @param {string} folder */
function checkText(name, folder) {
  const text = readFileSync(path.join(folder, SCRIPT), 'utf8');
  const node = /(?:from|import)\s*\(?["']node:[\w/]+/.exec(text)?.[0];
  if (node) problems.push(`${name}: the bundle has ${node}`);
  if (text.includes('MERCER_CUDA_HOME')) problems.push(`${name}: the bundle has the CUDA runtime`);
  const { bytes, gzip, brotli } = sizes(folder);
  const kb = (/** @type {number} */ count) => Math.round(count / 1000);
  console.log(
    `${name}: ${kb(bytes)} kB with WebAssembly, ${kb(gzip)} kB by gzip, ${kb(brotli)} kB by brotli`,
  );
  if (kb(brotli) > MOST_KB) problems.push(`${name}: more than ${MOST_KB} kB`);
}

/** @param {import('playwright-core').Browser} browser @param {string} address @returns {Promise<any>} what the program left */
async function outcomeOf(browser, address) {
  const page = await browser.newPage();
  /** @type {string[]} */
  const errors = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await page.goto(address);
  await page
    .waitForFunction('globalThis.mercerOutcome', undefined, { timeout: LONGEST_MS })
    .catch(() => errors.push('nothing came'));
  const outcome = await page.evaluate('globalThis.mercerOutcome');
  await page.close();
  return outcome ?? { failed: errors.join('; ') };
}

/** @param {string} executable @param {string} folder */
async function check(executable, folder) {
  const program = path.join(FOLDER, 'page', 'program.mjs');
  cpSync(path.join(root, 'scripts/browser/page'), path.dirname(program), { recursive: true });
  const wasm = path.join(root, 'packages/cpu-runtime/build/wasm', WASM);
  for (const { name, copiesModule, build } of bundlers) {
    const target = path.join(folder, name);
    mkdirSync(target, { recursive: true });
    await build(program, target);
    if (!copiesModule) {
      for (const other of ['without', 'given'])
        cpSync(target, path.join(folder, other), { recursive: true });
      cpSync(wasm, path.join(target, WASM));
    }
    writeFileSync(path.join(target, 'index.html'), pageOf());
    checkText(name, target);
  }
  writeFileSync(path.join(folder, 'without/index.html'), pageOf());
  const given = `<script>globalThis[Symbol.for('mercer.wasm')] = '/elsewhere.wasm'</script>`;
  writeFileSync(path.join(folder, 'given/index.html'), given + pageOf());
  cpSync(wasm, path.join(folder, 'elsewhere.wasm'));

  const { origin, close } = await serve(folder);
  const browser = await launch(executable);
  for (const name of [...bundlers.map((one) => one.name), 'given'])
    compare(name, await outcomeOf(browser, `${origin}/${name}/`), false);
  const isolated = await serve(folder, ISOLATED);
  for (const { name } of bundlers)
    compare(`${name}, isolated`, await outcomeOf(browser, `${isolated.origin}/${name}/`), true);
  isolated.close();
  const { failed = '' } = await outcomeOf(browser, `${origin}/without/`);
  if (!/could be loaded[^]*mercer_cpu\.wasm: the server answers 404/.test(failed))
    problems.push(`without the module: ${failed}`);
  await browser.close();
  close();
}

const executable = chromiumPath();
const missing = [
  ...(executable ? [] : ['Chromium (the package chromium)']),
  ...(existsSync(path.join(root, 'packages/cpu-runtime/build/wasm', WASM))
    ? []
    : ['WebAssembly (node scripts/build-wasm.mjs)']),
];
if (executable && missing.length === 0) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-browser-'));
  try {
    await install();
    await check(executable, folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
  for (const problem of problems) console.log(problem);
  console.log(`bundles for browsers: ${problems.length} problems`);
  if (problems.length > 0) process.exitCode = 1;
} else {
  console.log(`skipped: bundles for browsers, for want of ${missing.join(' and ')}`);
}
