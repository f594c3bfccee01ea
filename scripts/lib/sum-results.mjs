// Prints one closing line for all test runs whose results were appended to a file.
import { readFileSync } from 'node:fs';
import { closingLine, readResults } from './test-results.mjs';

console.log(closingLine(readResults(readFileSync(String(process.argv[2]), 'utf8'))));
