// Pictures of the built site, at 1280 and at 400 pixels, to be looked at before a change of the site is done: `node scripts/site/screenshots.mjs`
// writes docs/screenshots anew.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from './browser.mjs';
import { runHere } from './run-programs.mjs';
import { serve } from './serve.mjs';

/** @typedef {{ name: string, page: string, dark?: true, run?: true }} Picture */

/** @type {readonly Picture[]} */
const PICTURES = [
  { name: 'front', page: 'index.html' },
  { name: 'front-run', page: 'index.html', run: true },
  { name: 'guide', page: 'guide/first-steps.html' },
  { name: 'guide-dark', page: 'guide/first-steps.html', dark: true },
  { name: 'gallery', page: 'examples/index.html' },
  { name: 'example-run', page: 'examples/14-k-means.html', run: true },
  { name: 'playground', page: 'playground.html', run: true },
  { name: 'performance', page: 'docs/performance/solvers.html' },
  { name: 'reference', page: 'reference/pairwise.html' },
];
const VIEWS = [
  { width: 1280, height: 1000 },
  { width: 400, height: 1000 },
];

const executable = chromiumPath();
if (executable === undefined)
  throw new Error('There is no Chromium: install it, or name it in MERCER_CHROMIUM.');
const folder = path.join(root, 'docs/screenshots');
mkdirSync(folder, { recursive: true });
const { origin, close } = await serve(path.join(root, 'build/site'));
const browser = await launch(executable);
try {
  for (const { name, page: address, dark, run } of PICTURES) {
    for (const viewport of VIEWS) {
      const page = await browser.newPage({ viewport, colorScheme: dark ? 'dark' : 'light' });
      await page.goto(`${origin}/${address}`, { waitUntil: 'networkidle' });
      if (run) {
        const { state, text } = await runHere(page);
        if (state !== 'done') throw new Error(`${address}: its program ended as ${state}: ${text}`);
        await page.locator('.run-program').first().scrollIntoViewIfNeeded();
      }
      const file = path.join(folder, `${name}-${viewport.width}.png`);
      await page.screenshot({ path: file });
      await page.close();
      console.log(path.relative(root, file));
    }
  }
} finally {
  await browser.close();
  close();
}
