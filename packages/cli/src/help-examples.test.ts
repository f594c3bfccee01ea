import type { Command } from 'commander';
import { expect, it } from 'vitest';
import { commandWords } from './completion/command-words.js';
import { examplesText, HELP_EXAMPLES } from './help-examples.js';
import { createProgram } from './program.js';

/** The words of a line as a shell has them, without where output goes. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ [<>] .*$/, '').matchAll(/'([^']*)'|(\S+)/g)].map(
    ([, inside, bare]) => inside ?? bare ?? '',
  );

const leaf = (program: Command, path: string): Command =>
  path.split(' ').reduce<Command>((command, name) => {
    const found = command.commands.find((each) => each.name() === name);
    if (found === undefined) throw new Error(`there is no command ${path}`);
    return found;
  }, program);

it('the help of every command has examples, that of a command with subcommands one of each', async () => {
  const [, ...all] = commandWords(await createProgram());
  expect(all.map(({ path }) => path)).toEqual(
    expect.arrayContaining(['bench', 'cache', 'demo', 'train', 'demo digits', 'doctor']),
  );
  for (const { path, commands } of all) {
    const [, heading, ...lines] = examplesText(path).split('\n');
    expect(heading, path).toBe('Examples:');
    const paths = commands.length === 0 ? [path] : commands.map(({ name }) => `${path} ${name}`);
    for (const each of paths) {
      expect(lines, each).toContainEqual(expect.stringMatching(`^ {2}mercer ${each}( |$)`));
    }
  }
});

it('every command has examples, whose options it knows and whose values it takes', async () => {
  const program = await createProgram();
  const leaves = commandWords(program).filter(({ commands }) => commands.length === 0);
  expect(Object.keys(HELP_EXAMPLES).sort()).toEqual(leaves.map(({ path }) => path).sort());
  for (const [path, examples] of Object.entries(HELP_EXAMPLES)) {
    expect(examples.length, path).toBeGreaterThan(0);
    for (const example of examples) {
      expect(example.startsWith(path), example).toBe(true);
      // a fresh command keeps no values of the example before
      const command = leaf(await createProgram(), path);
      const ran: string[][] = [];
      command.action(() => {
        ran.push([...command.args]);
      });
      await command.parseAsync(wordsOf(example).slice(path.split(' ').length), { from: 'user' });
      expect(ran, example).toHaveLength(1);
    }
  }
});
