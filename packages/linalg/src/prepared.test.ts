import { preparedSuite } from './prepared-suite.test-support.js';

preparedSuite('on the CPU');
