/** In the place of lapack/candidates.ts: a page opens no libraries, and WebAssembly has routines of its own. */
export const lapackCandidates = () => ({
  candidates: [],
  attempts: [{ path: 'LAPACK', error: 'a page opens no libraries' }],
});

export const openblasPackage = (): string => '';
