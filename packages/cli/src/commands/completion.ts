import { Argument, Command } from 'commander';
import { commandWords } from '../completion/command-words.js';
import { completionScript, SHELLS, type Shell } from '../completion/scripts.js';

/** `mercer completion bash`: a script that completes the commands and options of the whole program. */
export function completionCommand(createProgram: () => Promise<Command>): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      process.stdout.write(completionScript(shell, commandWords(await createProgram())));
    });
}
