import { device } from '@mercer/tensor';
import { describeVmap } from './testing/vmap-suite.test-support.js';

describeVmap(() => device('cpu'));
