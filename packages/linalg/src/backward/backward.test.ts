import { device } from '@mercer/tensor';
import { backwardSuite } from './backward-suite.test-support.js';

backwardSuite('on the CPU', () => device('cpu'));
