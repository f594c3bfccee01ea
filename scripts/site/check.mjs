// Looks at the built site: the sentences of its pages are short, no link leads nowhere, and in Chromium every page loads without an
// error and is not wider than a window of 400 pixels: of typedoc's pages, which are all alike, one of each kind in each package. Where there is no Chromium, it says how many pages it did not look at.
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from './browser.mjs';
import { deadLinks } from './dead-links.mjs';
import { filesUnder } from './files.mjs';
import { canRun } from './runner/build.mjs';
import { checkPrograms } from './run-programs.mjs';
import { MOST_WORDS, wordsOfPages } from './sentences.mjs';
import { serve } from './serve.mjs';

const SITE = 'build/site';
const NARROW = { width: 400, height: 800 };
const AT_ONCE = 2;

/** @type {string[]} */
const problems = [];

function checkSentences() {
  const pages = wordsOfPages();
  for (const { file, words } of pages) {
    if (words > MOST_WORDS)
      problems.push(
        `${file}: ${words.toFixed(1)} words a sentence, at most ${MOST_WORDS} are wanted`,
      );
  }
  const most = Math.max(...pages.map(({ words }) => words));
  console.log(`sentences: ${pages.length} pages, ${most.toFixed(1)} words on average at most`);
}

/** @param {readonly string[]} pages */
function checkLinks(pages) {
  const texts = new Map(
    pages.map((page) => [page, readFileSync(path.join(root, SITE, page), 'utf8')]),
  );
  const isFile = (/** @type {string} */ file) => {
    const full = path.join(root, SITE, file);
    return existsSync(full) && statSync(full).isFile();
  };
  const dead = deadLinks(texts, isFile);
  problems.push(...dead.map((link) => `dead link: ${link}`));
  console.log(`links: ${pages.length} pages, ${dead.length} dead`);
}

/** @param {readonly string[]} all @returns {string[]} of typedoc's pages the first of each kind in each package, and all others */
function looksDifferent(all) {
  const seen = new Set();
  return all.filter((page) => {
    const kind = /^api\/\w+\/_mercer_[\w-]+/.exec(page)?.[0];
    if (kind === undefined) return true;
    return !seen.has(kind) && seen.add(kind);
  });
}

/** @param {readonly string[]} pages @param {string} executable */
async function checkInBrowser(pages, executable) {
  const { origin, close } = await serve(path.join(root, SITE));
  const browser = await launch(executable);
  const queue = pages.values();
  /** @type {[ms: number, page: string][]} */
  const times = [];
  const look = async () => {
    const page = await browser.newPage({ viewport: NARROW });
    /** @type {string[]} */
    let errors = [];
    page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
    page.on('pageerror', (error) => errors.push(error.message));
    page.on(
      'response',
      (response) =>
        response.status() >= 400 && errors.push(`${response.status()} of ${response.url()}`),
    );
    for (const one of queue) {
      errors = [];
      const start = performance.now();
      await page.goto(`${origin}/${one}`, { waitUntil: 'load' });
      const width = Number(await page.evaluate('document.documentElement.scrollWidth'));
      if (width > NARROW.width) errors.push(`${width} pixels wide in a window of ${NARROW.width}`);
      times.push([performance.now() - start, one]);
      problems.push(...errors.map((error) => `${one}: ${error}`));
    }
    await page.close();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, look));
  await checkSearch(await browser.newPage(), origin);
  if (canRun()) problems.push(...(await checkPrograms(browser, origin)));
  else console.log('skipped: programs in pages, for want of WebAssembly');
  await browser.close();
  close();
  const [slowest] = times.sort(([a], [b]) => b - a);
  console.log(`slowest: ${slowest?.[1]}, ${((slowest?.[0] ?? 0) / 1000).toFixed(1)} s`);
}

/** The search finds a name of the API. @param {import('playwright-core').Page} page @param {string} origin */
async function checkSearch(page, origin) {
  const [wanted, address] = ['cdistBackward', '/reference/pairwise.html#cdistbackward'];
  await page.goto(origin);
  await page.locator('#local-search button').first().click();
  await page.locator('#localsearch-input').fill(wanted);
  const found = page.locator(`.VPLocalSearchBox .results a[href="${address}"]`);
  await found.waitFor({ timeout: 20_000 }).catch(() => {
    problems.push(`the search for ${wanted} does not find ${address}`);
  });
}

const pages = filesUnder(SITE, /\.html$/).map((file) => path.posix.relative(SITE, file));
if (pages.length === 0) throw new Error(`There is no ${SITE}: npm run docs builds it.`);
checkSentences();
checkLinks(pages);
const shown = looksDifferent(pages.filter((page) => page !== '404.html'));
const executable = chromiumPath();
if (executable) {
  const start = performance.now();
  await checkInBrowser(shown, executable);
  console.log(
    `in Chromium: ${shown.length} pages (${((performance.now() - start) / 1000).toFixed(0)} s)`,
  );
} else {
  console.log(
    `skipped: ${shown.length} pages are not looked at, for want of Chromium (the package chromium)`,
  );
}
for (const problem of problems.slice(0, 60)) console.log(problem);
console.log(`site: ${problems.length} problems`);
if (problems.length > 0) process.exitCode = 1;
