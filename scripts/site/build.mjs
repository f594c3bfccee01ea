// Builds the documentation site into build/site: typedoc's pages, the pages that scripts/site/assemble.mjs gathers, and vitepress
// around them. `npm run docs`.
import { spawnSync } from 'node:child_process';
import { cpSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'vitepress';
import { root } from '../lib/workspace.mjs';
import { assemble, source } from './assemble.mjs';
import { buildRunner, canRun } from './runner/build.mjs';

const start = performance.now();
const seconds = () => `${((performance.now() - start) / 1000).toFixed(0)} s`;

// --assemble leaves typedoc's pages as they are.
if (!process.argv.includes('--assemble')) {
  const { status } = spawnSync(
    path.join(root, 'node_modules/.bin/typedoc'),
    ['--logLevel', 'Warn'],
    {
      cwd: root,
      stdio: 'inherit',
    },
  );
  if (status !== 0) process.exit(1);
  console.log(`API: build/api (${seconds()})`);
}
const { pages, titles } = assemble();
writeFileSync(path.join(root, 'build/site-titles.json'), JSON.stringify(titles));
if (canRun()) {
  await buildRunner(path.join(source, 'public/run'));
  console.log(`programs can run in pages (${seconds()})`);
} else {
  console.log('programs cannot run in pages: node scripts/build-wasm.mjs says why');
  process.env.MERCER_SITE_RUNS = '0';
}
await build(path.join(root, 'docs/site'));
cpSync(path.join(root, 'build/api'), path.join(root, 'build/site/api'), { recursive: true });
console.log(`site: build/site, ${pages} pages beside those of the API (${seconds()})`);
