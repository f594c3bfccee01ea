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
/** Modules that a declaration declares, as Node's are. */
const ambient = new Set(
  program
    .getTypeChecker()
    .getAmbientModules()
    .map((one) => one.name.slice(1, -1)),
);
/** Imports of sources, which are not checked themselves, that lead nowhere: what they name would have any type in the tests. */
const unresolved = program
  .getSourceFiles()
  .filter((file) => !file.isDeclarationFile)
  .flatMap((file) =>
    ts
      .preProcessFile(file.text)
      .importedFiles.map(({ fileName }) => fileName)
      .filter(
        (name) =>
          !ts.resolveModuleName(name, file.fileName, parsed.options, ts.sys).resolvedModule &&
          !ambient.has(name),
      )
      .map(
        (name) =>
          `${file.fileName}(1,1): error TS2307: '${name}' leads nowhere. Build the packages first.\n`,
      ),
  );
const found = [
  ...parsed.errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
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
process.stdout.write(unresolved.join(''));
process.exitCode = found.length + unresolved.length > 0 ? 2 : 0;
