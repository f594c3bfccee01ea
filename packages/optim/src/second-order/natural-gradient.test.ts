import { device } from '@mercer/tensor';
import { naturalGradientSuite } from './natural-gradient-suite.test-support.js';

naturalGradientSuite('the CPU', () => device('cpu'));
