import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { HELP_SECTIONS } from './help-sections.js';
import { mercer } from './testing/run-bin.test-support.js';

let help = '';
beforeAll(async () => {
  help = (await mercer(['--help'])).stdout;
});

it('stands behind the commands, in lines of 80 columns, for both ways to ask', async () => {
  const [commands = 0, ...sections] = ['Commands', ...Object.keys(HELP_SECTIONS)].map((title) =>
    help.indexOf(`\n${title}:\n`),
  );
  expect(commands).toBeGreaterThan(0);
  expect(sections).toEqual(sections.toSorted((a, b) => a - b));
  expect(sections[0]).toBeGreaterThan(commands);
  for (const name of Object.values(HELP_SECTIONS).flatMap(Object.keys)) {
    expect(help).toContain(`\n  ${name} `);
  }
  expect(Math.max(...help.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
  expect((await mercer(['help'])).stdout).toBe(help);
  expect((await mercer(['cache', 'warm', '--help'])).stdout).toMatch(/\nSee also: mercer --help, /);
});

it('has the variables that the guide to deploying names, and none that nobody reads', () => {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  const read = (file: string): string => readFileSync(join(root, file), 'utf8');
  const named = [...read('docs/site/guide/deploying.md').matchAll(/^\| `([A-Z_]+)` /gm)];
  expect(named.length).toBeGreaterThan(5);
  for (const [, name] of named) expect(help).toContain(`\n  ${String(name)} `);
  const sources = readdirSync(join(root, 'packages')).flatMap((name) =>
    readdirSync(join(root, 'packages', name, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test|\.test-support)\.ts$/.test(file))
      .filter((file) => !file.endsWith('help-sections.ts'))
      .map((file) => read(join('packages', name, 'src', file))),
  );
  const variables = Object.keys(HELP_SECTIONS['Environment'] ?? {});
  expect(variables.filter((name) => !sources.some((text) => text.includes(name)))).toEqual([]);
});
