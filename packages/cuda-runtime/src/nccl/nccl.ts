import type { LibraryReport } from '../library/library-report.js';
import { ncclReport, requireNccl } from '../library/open-libraries.js';
import { joinCommunicator } from './communicator.js';

/**
 * NCCL: what processes compute together, each on a GPU of its own. Failures are `NcclError`, and end the group. Nothing is opened before the
 * first call.
 */
export const nccl = {
  /** True if NCCL 2.14 or newer opens. Never throws. */
  isAvailable(): boolean {
    return ncclReport().found;
  },

  /** Where it was found, or every place tried and what to do. Never throws. */
  report(): LibraryReport {
    return ncclReport();
  },

  /** Opens it. @throws LibraryNotFoundError with every place tried */
  assertAvailable(): void {
    requireNccl();
  },

  /**
   * The id of a new group, 128 bytes: this process listens for the ranks that join with it, and must live until all have.
   *
   * @see ncclGetUniqueId: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/api/comms.html
   */
  uniqueId(): Uint8Array {
    return requireNccl().ncclUniqueId();
  },

  join: joinCommunicator,
};
