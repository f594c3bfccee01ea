import { assertType, expectTypeOf, test } from 'vitest';
import { JitCache, cudaTarget, debugPrinter, hostToolchain, nvrtcToolchain } from './index.js';
import type { Artifact, CacheStats, CompileUnit, EntryInfo, Toolchain } from './index.js';

test('public signatures', () => {
  expectTypeOf(JitCache.open).returns.toEqualTypeOf<JitCache>();
  expectTypeOf<JitCache['get']>().returns.resolves.toEqualTypeOf<Artifact>();
  expectTypeOf<JitCache['getAll']>().returns.resolves.toEqualTypeOf<Artifact[]>();
  expectTypeOf<JitCache['stats']>().returns.resolves.toEqualTypeOf<CacheStats>();
  expectTypeOf<JitCache['list']>().returns.resolves.toEqualTypeOf<EntryInfo[]>();
  expectTypeOf<JitCache['prune']>().returns.resolves.toBeNumber();
  expectTypeOf(nvrtcToolchain).returns.resolves.toEqualTypeOf<Toolchain>();
  expectTypeOf(hostToolchain).returns.resolves.toEqualTypeOf<Toolchain>();
  expectTypeOf(cudaTarget).parameters.toEqualTypeOf<[string, readonly number[]]>();
  expectTypeOf(debugPrinter).returns.toEqualTypeOf<((line: string) => void) | undefined>();
  // A frozen literal is a unit; options are never text.
  const unit = {
    language: 'cuda',
    source: '',
    options: [{ name: 'fmad', value: true }],
    target: 'sm_90a',
    names: ['f'],
  } as const;
  assertType<CompileUnit>(unit);
  // @ts-expect-error a flag string is no option
  assertType<CompileUnit>({ ...unit, options: ['--fmad=true'] });
});
