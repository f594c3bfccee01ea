import { spawnSync } from 'node:child_process';
import { beforeAll, describe, expect, it } from 'vitest';
import { createProgram } from '../program.js';
import { mercer } from '../testing/run-bin.test-support.js';
import { commandWords, type CommandWords } from './command-words.js';
import { completionScript, SHELLS } from './scripts.js';

let words: readonly CommandWords[] = [];
beforeAll(async () => {
  words = commandWords(await createProgram());
});

/** What bash offers for a line that ends where the cursor is. */
function offered(line: string): string[] {
  const script = `${completionScript('bash', words)}
    IFS=' ' read -ra COMP_WORDS <<< "$1"
    [[ $1 == *' ' ]] && COMP_WORDS+=('')
    COMP_CWORD=$((\${#COMP_WORDS[@]} - 1))
    _mercer
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', line], { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completions', () => {
  it.each([
    ['mercer ke', ['kernel']],
    ['mercer bench li', ['limits', 'linalg']],
    ['mercer cdist a.npy --d', ['--device', '--dtype', '--debug']],
    ['mercer cdist a.npy --dtype ', ['float32', 'float64']],
    ['mercer kernel --preset ma', ['manhattan', 'matern12', 'matern32', 'matern52']],
    ['mercer cdist --out ', []], // files
    ['mercer train digits --opt', ['--optimizer']],
    ['mercer no-such-command --ver', ['--version']],
  ])('of bash for "%s"', (line, wanted) => {
    expect(offered(line)).toEqual(wanted);
  });

  it.each(SHELLS)('of %s name every command and option, and nothing that is hidden', (shell) => {
    const script = completionScript(shell, words);
    for (const { path, commands, options } of words) {
      if (path !== '') expect(script).toContain(`'${path}'`);
      for (const { name } of [...commands, ...options]) {
        expect(script).toContain(shell === 'fish' ? name.replace(/^--/, '-l ') : name);
      }
    }
    expect(script).not.toContain('first-call');
    expect(script).not.toContain('undefined');
  });

  it('are printed by mercer completion, for shells that are known', async () => {
    expect(await mercer(['completion', 'zsh'])).toMatchObject({
      status: 0,
      stdout: completionScript('zsh', words),
    });
    const other = await mercer(['completion', 'tcsh']);
    expect(other).toMatchObject({ status: 2, stdout: '' });
    expect(other.stderr).toMatch(/Allowed choices are bash, zsh, fish/);
  });
});
