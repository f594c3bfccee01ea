import { defineConfig } from 'vitest/config';
import { packageTests, withLighterKernels } from '../../vitest.shared.js';

export default defineConfig({ test: { ...packageTests, ...withLighterKernels } });
