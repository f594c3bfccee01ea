import { device } from '@mercer/tensor';
import { kfacSuite } from './kfac-suite.test-support.js';

kfacSuite('the CPU', () => device('cpu'));
