import { defineConfig } from 'vitest/config';
import { inSharedProcesses, packageTests } from '../../vitest.shared.js';

export default defineConfig({ test: { ...packageTests, ...inSharedProcesses } });
