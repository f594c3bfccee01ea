// Type-checks every example of README, docs, docstrings and examples/ as a module of its own against the built packages,
// then runs each with Node on the packages as they are installed, which load in a quarter of the time. A fence marked `no-run` must say why; it is type-checked and counted.
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import install, { FOLDER } from '../lib/installed.mjs';
import { mapConcurrently } from '../lib/map-concurrently.mjs';
import { closingLine, writeResults } from '../lib/test-results.mjs';
import { readJson, root, workspacePackages } from '../lib/workspace.mjs';
import { collectExamples, collectPrograms } from './extract.mjs';
import { untold, withMarks } from './told.mjs';

const TIMEOUT_MS = 120_000;
const filter = process.argv[2];

/** A project beside which @mercer/* and the types of Node resolve, as they would for a user: in out/, where it runs, as they are installed. */
function createProject() {
  const project = mkdtempSync(path.join(tmpdir(), 'mercer-examples-'));
  const checked = path.join(project, 'node_modules');
  const run = path.join(project, 'out/node_modules');
  mkdirSync(path.join(checked, '@mercer'), { recursive: true });
  for (const { name, directory } of workspacePackages()) {
    symlinkSync(directory, path.join(checked, name));
  }
  symlinkSync(path.join(root, 'node_modules/@types'), path.join(checked, '@types'));
  mkdirSync(run, { recursive: true });
  symlinkSync(path.join(FOLDER, 'node_modules/@mercer'), path.join(run, '@mercer'));
  const examples = path.join(root, 'examples');
  for (const name of Object.keys(readJson(path.join(examples, 'package.json')).devDependencies)) {
    for (const folder of [checked, run]) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      symlinkSync(path.join(examples, 'node_modules', name), path.join(folder, name));
    }
  }
  // What the programs share; as JavaScript beside them it is checked and compiled with them.
  cpSync(path.join(examples, 'lib'), path.join(project, 'lib'), { recursive: true });
  writeFileSync(
    path.join(project, 'package.json'),
    JSON.stringify({ type: 'module', private: true }),
  );
  return project;
}

/** @param {string} project @param {readonly string[]} files @returns {Map<string, string[]>} errors per file */
function compile(project, files) {
  const program = ts.createProgram([...files], {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: ['node'],
    typeRoots: [path.join(project, 'node_modules/@types')],
    strict: true,
    allowJs: true,
    checkJs: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    moduleDetection: ts.ModuleDetectionKind.Force,
    rootDir: project,
    outDir: path.join(project, 'out'),
  });
  const emitted = program.emit();
  /** @type {Map<string, string[]>} */
  const errors = new Map();
  for (const diagnostic of [...ts.getPreEmitDiagnostics(program), ...emitted.diagnostics]) {
    const file = diagnostic.file?.fileName ?? '';
    const position =
      diagnostic.file?.getLineAndCharacterOfPosition(diagnostic.start ?? 0).line ?? 0;
    const text = `line ${position + 1}: ${ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n')}`;
    errors.set(file, [...(errors.get(file) ?? []), text]);
  }
  return errors;
}

/** @param {string} file @param {string} project @returns {Promise<string | undefined>} what went wrong */
function execute(file, project) {
  const { code, told } = withMarks(readFileSync(file, 'utf8'));
  writeFileSync(file, code);
  return new Promise((resolve) => {
    const folder = mkdtempSync(path.join(project, 'run-'));
    const environment = {
      ...process.env,
      MERCER_CACHE_DIR: path.join(project, 'cache'),
      NO_COLOR: '1',
    };
    const child = spawn(process.execPath, [file], {
      cwd: folder,
      env: environment,
      timeout: TIMEOUT_MS,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('close', (code, signal) => {
      const differs = untold(told, output).join('\n');
      resolve(code === 0 ? differs || undefined : `ended with ${code ?? signal}\n${output}`);
    });
  });
}

const examples = [...collectExamples(), ...collectPrograms()].filter(
  ({ file }) => !filter || file.includes(filter),
);
await install();
const project = createProject();
/** @type {{ file: string, name: string, state: string }[]} */
const outcomes = [];
try {
  const named = examples.map((example, index) => {
    const stem = `${String(index).padStart(3, '0')}-${example.file.replaceAll(/[^A-Za-z0-9]+/g, '-')}`;
    const source = path.join(project, `${stem}.ts`);
    writeFileSync(source, example.code);
    return { example, source, compiled: path.join(project, 'out', `${stem}.js`) };
  });
  writeFileSync(path.join(project, 'out/package.json'), JSON.stringify({ type: 'module' }));
  const errors = compile(
    project,
    named.map(({ source }) => source),
  );
  const judge = async (/** @type {(typeof named)[number]} */ { example, source, compiled }) => {
    const typeErrors = errors.get(source)?.join('\n');
    if (example.problem ?? typeErrors) return example.problem ?? typeErrors;
    return example.noRun ? undefined : execute(compiled, project);
  };
  const problems = await mapConcurrently(named, Math.min(4, availableParallelism()), judge);
  for (const [index, { example }] of named.entries()) {
    const where = `${example.file}:${example.line}`;
    const problem = problems[index];
    const record = (/** @type {string} */ state) =>
      outcomes.push({ file: example.file, name: `line ${example.line}`, state });
    if (problem) {
      record('failed');
      console.log(`FAIL ${where}\n     ${problem.trim().replaceAll('\n', '\n     ')}`);
    } else if (example.noRun) {
      record('skipped');
      console.log(`type-checked only ${where}: ${example.noRun}`);
    } else {
      record('passed');
      console.log(`ok   ${where}`);
    }
  }
} finally {
  rmSync(project, { recursive: true, force: true });
}
console.log(`examples: ${closingLine(outcomes)}`);
if (process.env.MERCER_TEST_RESULTS)
  appendFileSync(process.env.MERCER_TEST_RESULTS, writeResults(outcomes));
if (examples.length === 0 || outcomes.some(({ state }) => state === 'failed')) process.exitCode = 1;
