import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../lib/workspace.mjs';

const folder = path.join(root, 'docs/adr');
const notes = readdirSync(folder).filter((file) => /^\d{4}-.*\.md$/.test(file));
const index = readFileSync(path.join(folder, 'README.md'), 'utf8');

test.each(notes)('%s has date and status under its title, and a line in the index', (file) => {
  const [title, , status] = readFileSync(path.join(folder, file), 'utf8').split('\n');
  expect(title).toMatch(new RegExp(`^# ${file.slice(0, 4)}: [A-Z]`));
  expect(status).toMatch(
    /^Date: \d{4}-\d\d-\d\d\. Status: (accepted|superseded by \[\d{4}\]\(.+\))(, amended by .+)?\.$/,
  );
  for (const [, other = ''] of String(status).matchAll(/\]\(([^)]+)\)/g))
    expect(notes).toContain(other);
  expect(index.split(`](${file})`).length).toBe(2);
});
