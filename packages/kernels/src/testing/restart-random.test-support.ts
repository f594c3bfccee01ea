import { restartRandom } from './pairwise-check.test-support.js';

// A set-up file: it runs in front of each test file, and these share processes.
restartRandom();
