// Lines of TypeScript of each package without tests, beside the table of docs/architecture.md: a number that is off by more than a twentieth
// fails. --write writes the numbers of today into the column `now`.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { format, resolveConfig } from 'prettier';
import { root, workspacePackages } from '../lib/workspace.mjs';

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
const document = path.join(root, 'docs/architecture.md');
const TESTS = /\.(test|test-support|test-d)\.ts$/;
const COMMENT = /^\s*(\/\/|\/\*|\*|$)/;
const ROW = /^(\| (\S+) +\| +[\d,]+ +\| +)([\d,]+) +\|$/gm;

const counted = (/** @type {number} */ count) => count.toLocaleString('en-US');

/** @type {Map<string, number>} */
const sizes = new Map();
for (const { folder, directory } of workspacePackages()) {
  const source = path.join(directory, 'src');
  if (!existsSync(source)) continue;
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !TESTS.test(file),
  );
  const lines = files.flatMap((file) =>
    readFileSync(path.join(source, file), 'utf8').trimEnd().split('\n'),
  );
  const code = lines.filter((line) => !COMMENT.test(line)).length;
  sizes.set(folder, lines.length);
  console.log(
    `${folder}: ${counted(files.length)} files, ${counted(lines.length)} lines, ${counted(code)} neither comments nor empty`,
  );
}

const before = readFileSync(document, 'utf8');
const begin = before.indexOf('## Size');
const end = before.indexOf('\n## ', begin + 1);
const section = before.slice(begin, end);
const written = [...section.matchAll(ROW)].map(([, , folder, now]) => ({
  folder: String(folder),
  now: Number(String(now).replaceAll(',', '')),
}));
if (values.write) {
  const table = section.replaceAll(
    ROW,
    (_, start, folder) => `${start}${counted(sizes.get(folder) ?? 0)} |`,
  );
  const text = before.slice(0, begin) + table + before.slice(end);
  const config = await resolveConfig(document);
  writeFileSync(document, await format(text, { ...config, parser: 'markdown' }));
} else {
  const problems = [...new Set([...sizes.keys(), ...written.map(({ folder }) => folder)])].flatMap(
    (folder) => {
      const [size, now] = [sizes.get(folder), written.find((row) => row.folder === folder)?.now];
      if (size !== undefined && now !== undefined && Math.abs(size - now) <= 0.05 * size) return [];
      return [
        `docs/architecture.md, Size: ${folder} has ${size ?? 'no'} lines, the table says ${now ?? 'nothing'}. Run scripts/checks/size.mjs --write; a new package needs its row first.`,
      ];
    },
  );
  for (const problem of problems) console.log(problem);
  if (problems.length > 0) process.exitCode = 1;
}
