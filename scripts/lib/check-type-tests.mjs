#!/usr/bin/env node
// The type checker of vitest's type tests, called as `tsc --noEmit --pretty false -p CONFIG`: it checks the files that CONFIG names and, of what they
// import, no more than they need. The sources themselves are checked by `tsc -b`; checking them again takes three times as long.
import ts from 'typescript';

const config = String(process.argv[process.argv.indexOf('-p') + 1]);
const host = {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic(/** @type {ts.Diagnostic} */ one) {
    throw new Error(ts.flattenDiagnosticMessageText(one.messageText, '\n'));
  },
};
const parsed = ts.getParsedCommandLineOfConfigFile(config, { noEmit: true }, host);
if (parsed === undefined) throw new Error(`${config} cannot be read`);
const program = ts.createProgram(parsed.fileNames, parsed.options);
const found = [
  ...parsed.errors,
  ...parsed.fileNames.flatMap((name) => {
    const file = program.getSourceFile(name);
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)];
  }),
];
process.stdout.write(
  ts.formatDiagnostics(found, {
    getCanonicalFileName: (name) => name,
    getCurrentDirectory: () => process.cwd(),
    getNewLine: () => '\n',
  }),
);
process.exitCode = found.length > 0 ? 2 : 0;
