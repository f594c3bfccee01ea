// Figures of README files and documents out of bench/results, and the README's picture: compares, and with --write writes them anew.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { root, workspacePackages } from '../lib/workspace.mjs';
import { handWrittenTables, writeBlocks } from './blocks.mjs';
import { CLAIMS } from './claims.mjs';
import { measurementFiles } from './measurements.mjs';
import { PICTURE, speedPicture } from './speed-picture.mjs';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const config = await resolveConfig(path.join(root, 'README.md'));
const files = [
  'README.md',
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('site'))
    .map((file) => `docs/${file}`),
  ...workspacePackages().map(({ folder }) => `packages/${folder}/README.md`),
];

const problems = [];
for (const file of new Set([...files, ...CLAIMS.map((claim) => claim.file)])) {
  const claims = CLAIMS.filter((claim) => claim.file === file);
  const before = readFileSync(path.join(root, file), 'utf8');
  const { text, names, stale } = await writeBlocks(before, (name) => {
    const claim = claims.find((one) => one.name === name);
    if (!claim)
      throw new Error(`${file}: no claim is named '${name}'; see scripts/claims/claims.mjs`);
    return format(claim.text(), { ...config, parser: 'markdown' });
  });
  for (const { name } of claims)
    if (!names.includes(name)) problems.push(`${file} has no place for '${name}'`);
  if (values.write) writeFileSync(path.join(root, file), text);
  else for (const name of stale) problems.push(`${file}: '${name}' differs from the measurement`);
  for (const table of handWrittenTables(text, measurementFiles))
    problems.push(`${file}: a table written by hand beside its measurement: ${table}`);
}
const picture = path.join(root, PICTURE);
const drawn = speedPicture();
if (values.write) writeFileSync(picture, drawn);
else if (!existsSync(picture) || readFileSync(picture, 'utf8') !== drawn)
  problems.push(`${PICTURE} differs from the measurements`);

for (const problem of problems) console.error(problem);
if (problems.length > 0) {
  console.error(
    'Tables and the picture of measurements come from scripts/claims/claims.mjs: `node scripts/claims/run.mjs --write`.',
  );
  process.exitCode = 1;
}
