// Runs programs of the built site in its pages, and compares what they print with what was recorded in Node. `node scripts/site/run-programs.mjs`
// runs those of all examples, which takes minutes; the check of the site runs some.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from './browser.mjs';
import { filesUnder } from './files.mjs';
import { gallery, notInPages, programs } from './gallery.mjs';
import { differences } from './same-output.mjs';
import { serve } from './serve.mjs';

/** @typedef {import('playwright-core').Page} Page */

const LONGEST_MS = 240_000;
/** Examples that the check runs: each layer, a data set, a picture, a table. */
const SOME = ['02', '06', '08', '10', '12', '14', '15', '16', '20', '31'];

/** Presses Run, and waits until the program has ended. @param {Page} page @param {number} at which one of the page */
export async function runHere(page, at = 0) {
  const program = page.locator('.run-program').nth(at);
  await program.locator('.run-start:enabled').click();
  await page.waitForFunction(
    `!['idle', 'running'].includes(document.querySelectorAll('.run-program')[${at}].dataset.state)`,
    undefined,
    { timeout: LONGEST_MS },
  );
  const output = program.locator('.run-output pre');
  return {
    state: await program.getAttribute('data-state'),
    text: (await output.count()) === 0 ? '' : String(await output.textContent()),
    pictures: await program.locator('.run-output img').count(),
  };
}

/** @param {Page} page @param {string} origin @param {string} name of an example @returns {Promise<string[]>} what is wrong */
async function runExample(page, origin, name) {
  await page.goto(`${origin}/examples/${name}.html`);
  const { state, text, pictures } = await runHere(page);
  if (state !== 'done') return [`examples/${name}: ${text}`];
  const recorded = readFileSync(path.join(gallery, `${name}.txt`), 'utf8');
  const drawn = recorded.match(/^wrote \S+\.svg$/gm)?.length ?? 0;
  return [
    ...differences(text, recorded).map((one) => `examples/${name}: ${one}`),
    ...(pictures === drawn ? [] : [`examples/${name}: ${pictures} pictures, not ${drawn}`]),
  ];
}

/** Every program of a guide ends well. @param {Page} page @param {string} origin @param {string} guide */
async function runGuide(page, origin, guide) {
  /** @type {string[]} */
  const problems = [];
  await page.goto(`${origin}/${guide}`);
  const count = await page.locator('.run-program').count();
  for (let at = 0; at < count; at++) {
    const { state, text } = await runHere(page, at);
    if (state !== 'done') problems.push(`${guide}, program ${at + 1}: ${text}`);
  }
  console.log(`${problems.length === 0 ? 'ok  ' : 'FAIL'} ${guide}, ${count} programs`);
  return problems;
}

/** The program of the front page, as it is and changed. @param {Page} page @param {string} origin */
async function checkFrontPage(page, origin) {
  /** @type {string[]} */
  const problems = [];
  await page.goto(origin);
  const { text } = await runHere(page);
  const wanted = '[ [ 0, 5, 10 ], [ 5, 0, 5 ], [ 10, 5, 0 ] ]\n[ [ 0, 1 ], [ 1, 0 ], [ 2, 1 ] ]';
  if (text.trim() !== wanted) problems.push(`front page: the program prints ${text}`);
  const put = async (/** @type {string} */ program) => {
    await page.locator('.run-program .cm-content').fill(program);
    return runHere(page);
  };
  await page.locator('.run-edit').first().click();
  const typed = await put(
    "import { tensor, type Tensor } from '@mercer/core';\nconst a: Tensor = await tensor([1, 2]);\nconsole.log(await a.mul(2).toNested());",
  );
  if (typed.text.trim() !== '[ 2, 4 ]') problems.push(`TypeScript: it prints ${typed.text}`);
  const wrong = await put(
    "import { cdist } from '@mercer/core';\n\nawait cdist([[1, 2]], [[1]]);\n",
  );
  if (wrong.state !== 'failed' || !/SHAPE_MISMATCH[^]*line 3/.test(wrong.text))
    problems.push(`an error: it says ${wrong.text}`);
  const missing = await put("import 'left-pad';");
  if (!/has no 'left-pad'/.test(missing.text)) problems.push(`an import: ${missing.text}`);
  return problems;
}

/** The playground's numbers agree; what takes too long can be stopped. @param {Page} page @param {string} origin */
async function checkPlayground(page, origin) {
  /** @type {string[]} */
  const problems = [];
  await page.goto(`${origin}/playground.html`);
  const editor = page.locator('.run-program .cm-content');
  await editor.waitFor();
  const [formula, reduction] = [page.locator('select').first(), page.locator('select').nth(1)];
  for (const [at, name] of [
    ['0', 'Sum'],
    ['1', 'Mean'],
    ['2', 'Max'],
    ['3', 'Min'],
    ['4', 'LogSumExp'],
  ]) {
    await formula.selectOption(String(at));
    await reduction.selectOption(String(name));
    const { text } = await runHere(page);
    const difference = Number(/difference (\S+)/.exec(text)?.[1] ?? NaN);
    if (!(difference < 1e-4) || !/times as fast/.test(text))
      problems.push(`playground, ${name} of formula ${at}: ${text}`);
  }
  await editor.fill("console.log('on its way');\nfor (;;);");
  await page.locator('.run-start').click();
  await page.getByText('on its way', { exact: true }).waitFor();
  await page.locator('.run-stop').click();
  const state = await page.locator('.run-program').getAttribute('data-state');
  if (state !== 'stopped') problems.push(`playground: after Stop it is ${state}`);
  return problems;
}

/**
 * @param {import('playwright-core').Browser} browser @param {string} origin @param {(name: string) => boolean} [wanted] examples
 * @param {readonly string[]} [guides] whose programs are run
 * @returns {Promise<string[]>} what is wrong
 */
export async function checkPrograms(
  browser,
  origin,
  wanted = (name) => SOME.includes(name.slice(0, 2)),
  guides = ['guide/symbolic-matrices.html'],
) {
  const page = await browser.newPage();
  const problems = [
    ...(await checkFrontPage(page, origin)),
    ...(await checkPlayground(page, origin)),
  ];
  for (const guide of guides) problems.push(...(await runGuide(page, origin, guide)));
  let count = 0;
  for (const { name, file } of programs().filter((one) => wanted(one.name))) {
    const why = notInPages(readFileSync(path.join(root, file), 'utf8'));
    if (why !== undefined) continue;
    const start = performance.now();
    const wrong = await runExample(page, origin, name);
    count++;
    console.log(
      `${wrong.length === 0 ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - start) / 1000).toFixed(1)} s)`,
    );
    problems.push(...wrong);
  }
  console.log(`programs: the front page's, the playground's, ${count} examples`);
  await page.close();
  return problems;
}

if (import.meta.url === pathToFileURL(String(process.argv[1])).href) {
  const executable = chromiumPath();
  if (!executable) throw new Error('Chromium runs the programs: install the package chromium.');
  const { origin, close } = await serve(path.join(root, 'build/site'));
  const browser = await launch(executable);
  const part = process.argv[2] ?? '';
  const guides = filesUnder('docs/site/guide', /\.md$/).map(
    (file) => `guide/${path.basename(file, '.md')}.html`,
  );
  const problems = await checkPrograms(
    browser,
    origin,
    (name) => name.includes(part),
    part === '' ? [...guides, 'docs/derivatives.html'] : [],
  );
  await browser.close();
  close();
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) process.exitCode = 1;
}
