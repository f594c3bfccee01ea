import type { Command, Option } from 'commander';

/** What can be typed behind the words that name a command. */
export interface CommandWords {
  /** The words, such as `bench cdist`; none for the program itself. */
  readonly path: string;
  readonly commands: readonly Described[];
  readonly options: readonly OptionWords[];
}

interface Described {
  readonly name: string;
  readonly description: string;
}

interface OptionWords extends Described {
  readonly takesValue: boolean;
  /** All values that it takes, where they are few. */
  readonly choices: readonly string[];
}

/** The words of a program and of all its commands, one entry for each. */
export function commandWords(command: Command, path = ''): CommandWords[] {
  // hidden ones are of programs
  const help = command.createHelp();
  const commands = help.visibleCommands(command).filter((each) => each.name() !== 'help');
  const inside = commands.map((each) => commandWords(each, `${path} ${each.name()}`.trim()));
  return [
    {
      path,
      commands: commands.map((each) => ({ name: each.name(), description: each.description() })),
      options: [...command.options.filter(({ long }) => long), undefined].map(optionWords),
    },
    ...inside.flat(),
  ];
}

function optionWords(option: Option | undefined): OptionWords {
  // every command has it, and commander adds it as it prints
  if (option === undefined)
    return { name: '--help', description: 'display help', takesValue: false, choices: [] };
  const { long, description, parseArg } = option;
  return {
    name: long ?? '',
    description,
    takesValue: option.required || option.optional,
    choices: (parseArg as { choices?: readonly string[] } | undefined)?.choices ?? [],
  };
}
