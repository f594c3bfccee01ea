// Runs the programs under examples/ and keeps what they print and the pictures they write, which the site's gallery shows.
// `node scripts/site/record-examples.mjs [PART OF A NAME]`; the results are committed under docs/site/gallery. Large SVGs, which are
// clouds and grids of thousands of marks, are kept as PNGs that Chromium draws.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from './browser.mjs';
import { gallery, programs } from './gallery.mjs';

const LARGEST_SVG = 60_000;
/** Pixels of a PNG for each unit of the SVG. */
const SCALE = 2;

const filter = process.argv[2] ?? '';
const executable = chromiumPath();
if (!executable) throw new Error('Chromium draws the pictures: install the package chromium.');
const browser = await launch(executable);

/** @param {string} svg @returns {Promise<Buffer>} a PNG */
async function draw(svg) {
  const page = await browser.newPage({ deviceScaleFactor: SCALE });
  await page.setContent(`<body style="margin:0">${svg}</body>`);
  const png = await page.locator('svg').first().screenshot();
  await page.close();
  return png;
}

mkdirSync(gallery, { recursive: true });
for (const { name, file } of programs().filter((program) => program.name.includes(filter))) {
  const folder = mkdtempSync(path.join(tmpdir(), 'mercer-gallery-'));
  try {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path.join(root, file)], {
      cwd: folder,
      encoding: 'utf8',
      env: { ...process.env, NO_COLOR: '1' },
    });
    if (status !== 0) throw new Error(`${file} ended with ${status}:\n${stderr}`);
    for (const old of readdirSync(gallery)) {
      if (old.startsWith(`${name}.`)) rmSync(path.join(gallery, old));
    }
    writeFileSync(path.join(gallery, `${name}.txt`), stdout.replaceAll(folder, '.'));
    for (const picture of readdirSync(folder).filter((entry) => entry.endsWith('.svg'))) {
      const svg = readFileSync(path.join(folder, picture), 'utf8');
      const kept = path.join(gallery, `${name}.${picture}`);
      if (svg.length <= LARGEST_SVG) writeFileSync(kept, svg);
      else writeFileSync(kept.replace(/svg$/, 'png'), await draw(svg));
    }
    console.log(`recorded ${name}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
await browser.close();
