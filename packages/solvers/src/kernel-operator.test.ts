import { device } from '@mercer/tensor';
import { kernelOperatorSuite } from './testing/kernel-operator-suite.test-support.js';

kernelOperatorSuite('the CPU', () => device('cpu'));
