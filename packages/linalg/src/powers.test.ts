import { powersSuite } from './powers-suite.test-support.js';

powersSuite('with LAPACK', [1, 2, 5, 31, 70]);
