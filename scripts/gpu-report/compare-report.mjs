// What a committed GPU report lacks, compared with what the code emits now.

/**
 * @typedef {{ name: string, arch: string, sha256: string }} KernelHash
 * @typedef {object} GpuReport
 * @property {string} date
 * @property {string | null} driver
 * @property {string[]} devices
 * @property {{ passed: number, failed: number, skipped: number }} tests
 * @property {{ device: string, limits: any }[]} architectures
 * @property {KernelHash[]} kernels
 */

/**
 * @param {GpuReport} report
 * @param {(limits: any) => Promise<KernelHash[]>} emit the default kernels for a device of the report
 * @returns {Promise<{ emitted: number, problems: string[] }>}
 */
export async function compareReport(report, emit) {
  const problems = [];
  const { passed, failed, skipped } = report.tests;
  if (failed > 0 || skipped > 0 || passed === 0) {
    problems.push(
      `its tests: ${passed} passed, ${failed} failed, ${skipped} skipped (all must pass, none may be skipped)`,
    );
  }
  const seen = new Set(report.kernels.map(({ arch, sha256 }) => `${arch} ${sha256}`));
  let emitted = 0;
  for (const { limits } of report.architectures) {
    for (const { name, arch, sha256 } of await emit(limits)) {
      emitted += 1;
      if (!seen.has(`${arch} ${sha256}`))
        problems.push(`${arch}  ${name}: its present source has not been loaded on a GPU`);
    }
  }
  if (emitted === 0) problems.push('it names no architecture for which kernels are emitted');
  return { emitted, problems };
}
