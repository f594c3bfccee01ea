// Runs the programs under examples/ and keeps what they print and the pictures they write, which the site's gallery shows.
// `node scripts/site/record-examples.mjs [PART OF A NAME]`; the results are committed under docs/site/gallery. Large SVGs, which are
// clouds and grids of thousands of marks, are kept as WebPs that Chromium draws.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { root } from '../lib/workspace.mjs';
import { chromiumPath, launch } from './browser.mjs';
import { gallery, programs } from './gallery.mjs';

const LARGEST_SVG = 60_000;
/** Pixels of a WebP for each unit of the SVG. */
const SCALE = 2;
const QUALITY = 0.85;

const filter = process.argv[2] ?? '';
const executable = chromiumPath();
if (!executable) throw new Error('Chromium draws the pictures: install the package chromium.');
const browser = await launch(executable);

/** @param {string} svg @returns {Promise<Buffer>} a WebP */
async function draw(svg) {
  const page = await browser.newPage({ deviceScaleFactor: SCALE });
  await page.setContent(`<body style="margin:0">${svg}</body>`);
  const png = await page.locator('svg').first().screenshot();
  const source = `data:image/png;base64,${png.toString('base64')}`;
  const drawn = /** @type {string} */ (
    await page.evaluate(`(async () => {
      const image = new Image();
      image.src = '${source}';
      await image.decode();
      const canvas = document.createElement('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.toDataURL('image/webp', ${QUALITY});
    })()`)
  );
  await page.close();
  return Buffer.from(String(drawn.split(',')[1]), 'base64');
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
      else writeFileSync(kept.replace(/svg$/, 'webp'), await draw(svg));
    }
    console.log(`recorded ${name}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
await browser.close();
