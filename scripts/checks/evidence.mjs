// docs/evidence.txt says which test shows what: every test that it names must exist and, where the results of a test run are
// given, must have run and passed. That a test asserts something is demanded by the test runner (requireAssertions).
//   node scripts/checks/evidence.mjs [results.jsonl]
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readResults } from '../lib/test-results.mjs';
import { root } from '../lib/workspace.mjs';
import { missingTests, readEvidence } from './evidence-text.mjs';

const FILE = 'docs/evidence.txt';
const { claims, tests, problems } = readEvidence(readFileSync(path.join(root, FILE), 'utf8'));
const resultsFile = process.argv[2];
const results =
  resultsFile === undefined ? undefined : readResults(readFileSync(resultsFile, 'utf8'));
const missing = missingTests(tests, {
  exists: (file) => existsSync(path.join(root, file)),
  results,
});
for (const problem of [...problems, ...missing]) console.error(`${FILE}, ${problem}`);
const how = results === undefined ? 'exist (no test results given)' : 'ran and passed';
if (problems.length + missing.length > 0) {
  console.error('Name for each claim a test that runs without a GPU, by a part of its full name.');
  process.exitCode = 1;
} else if (tests.length === 0) {
  console.error(`${FILE} names no test`);
  process.exitCode = 1;
} else console.log(`${FILE}: ${claims} claims, ${tests.length} tests that ${how}`);
