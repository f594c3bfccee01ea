import { device } from '@mercer/tensor';
import { backwardCallsSuite } from './backward-calls-suite.test-support.js';

backwardCallsSuite('on the CPU', () => device('cpu'));
