import { emptySuite } from './empty-suite.test-support.js';

emptySuite('on the CPU');
