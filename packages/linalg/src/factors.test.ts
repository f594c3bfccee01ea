import { factorsSuite } from './factors-suite.test-support.js';

factorsSuite('with LAPACK', [1, 2, 5, 31, 70, 140]);
