import type { CommandWords } from './command-words.js';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** A script that completes commands, options and values of few choices; where nothing of these fits, files. */
export function completionScript(shell: Shell, words: readonly CommandWords[]): string {
  return SCRIPTS[shell](words);
}

const SCRIPTS: Readonly<Record<Shell, (words: readonly CommandWords[]) => string>> = {
  bash: (words) => `# completions of mercer for bash
_mercer() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} path= word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "\${path:+$path }$word" in
      ${pathPattern(words)}) path="\${path:+$path }$word" ;;
    esac
  done
  case "$path:$before" in
${withChoices(words, (path, option, choices) => `    '${path}:${option}') COMPREPLY=($(compgen -W '${choices.join(' ')}' -- "$current")); return ;;`)}
${withValues(words, (path, options) => `    ${options.map((option) => `'${path}:${option}'`).join(' | ')}) return ;;`)}
  esac
  case "$path" in
${words
  .map(({ path, commands, options }) => {
    const all = [...commands, ...options].map(({ name }) => name).join(' ');
    return `    '${path}') COMPREPLY=($(compgen -W '${all}' -- "$current")) ;;`;
  })
  .join('\n')}
  esac
}
complete -o default -F _mercer mercer
`,
  zsh: (words) => `#compdef mercer
# completions of mercer for zsh
_mercer() {
  local before=\${words[CURRENT-1]} mercer_path= word
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${mercer_path:+$mercer_path }$word" in
      ${pathPattern(words)}) mercer_path="\${mercer_path:+$mercer_path }$word" ;;
    esac
  done
  case "$mercer_path:$before" in
${withChoices(words, (path, option, choices) => `    '${path}:${option}') compadd -- ${choices.join(' ')}; return ;;`)}
${withValues(words, (path, options) => `    ${options.map((option) => `'${path}:${option}'`).join(' | ')}) _files; return ;;`)}
  esac
  case "$mercer_path" in
${words
  .map(({ path, commands, options }) => {
    const items = [...commands, ...options].map(({ name, description }) =>
      quoted(`${name}:${description.replaceAll(':', '\\:')}`, "'\\''"),
    );
    return `    '${path}') items=(${items.join(' ')}) ;;`;
  })
  .join('\n')}
  esac
  _describe mercer items || _files
}
# a file of fpath is this function's first call; else the script was sourced
if [[ "\${funcstack[1]}" == _mercer ]]; then _mercer "$@"; else compdef _mercer mercer; fi
`,
  fish: (words) => `# completions of mercer for fish
function __mercer_path
  set -l path
  for word in (commandline -opc)[2..-1]
    switch (string join -- ' ' $path $word)
      case ${words
        .filter(({ path }) => path !== '')
        .map(({ path }) => `'${path}'`)
        .join(' ')}
        set -a path $word
    end
  end
  string join -- ' ' $path
end
function __mercer_at
  test "$(__mercer_path)" = "$argv[1]"
end
${words
  .flatMap(({ path, commands, options }) => {
    const at = `complete -c mercer -n '__mercer_at "${path}"'`;
    const about = (description: string): string => `-d ${quoted(description, "\\'")}`;
    return [
      ...commands.map(({ name, description }) => `${at} -f -a ${name} ${about(description)}`),
      ...options.map(({ name, description, takesValue, choices }) => {
        const values =
          choices.length > 0 ? ` -x -a '${choices.join(' ')}'` : takesValue ? ' -r' : '';
        return `${at} -l ${name.slice(2)}${values} ${about(description)}`;
      }),
    ];
  })
  .join('\n')}
`,
};

/** The paths of commands as a pattern of case. */
const pathPattern = (words: readonly CommandWords[]): string =>
  words
    .filter(({ path }) => path !== '')
    .map(({ path }) => `'${path}'`)
    .join(' | ');

const withChoices = (
  words: readonly CommandWords[],
  line: (path: string, option: string, choices: readonly string[]) => string,
): string =>
  words
    .flatMap(({ path, options }) =>
      options
        .filter(({ choices }) => choices.length > 0)
        .map(({ name, choices }) => line(path, name, choices)),
    )
    .join('\n');

/** Options whose value is a file or a text of many. */
const withValues = (
  words: readonly CommandWords[],
  line: (path: string, options: readonly string[]) => string,
): string =>
  words
    .map(({ path, options }) => ({
      path,
      names: options
        .filter(({ takesValue, choices }) => takesValue && choices.length === 0)
        .map(({ name }) => name),
    }))
    .filter(({ names }) => names.length > 0)
    .map(({ path, names }) => line(path, names))
    .join('\n');

/** A text in single quotes; `inner` is how one stands within. */
const quoted = (text: string, inner: string): string =>
  `'${(inner === "\\'" ? text.replaceAll('\\', '\\\\') : text).replaceAll("'", inner)}'`;
