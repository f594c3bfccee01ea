import { device } from '@mercer/tensor';
import { estimatesSuite } from '../testing/estimates-suite.test-support.js';

estimatesSuite('the CPU', () => device('cpu'));
