import { refineEigenbasisSuite } from './refine-eigenbasis-suite.test-support.js';

refineEigenbasisSuite('with LAPACK');
