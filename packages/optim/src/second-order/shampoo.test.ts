import { device } from '@mercer/tensor';
import { shampooSuite } from './shampoo-suite.test-support.js';

shampooSuite('the CPU', () => device('cpu'));
