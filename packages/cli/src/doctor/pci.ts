import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NVIDIA_VENDOR = '0x10de';
const DISPLAY_CLASS = '0x03';

/** True when Linux lists an NVIDIA display controller, whether or not a driver is loaded for it. */
export function nvidiaGpuOnBus(root = '/sys/bus/pci/devices'): boolean {
  let names: string[];
  try {
    names = readdirSync(root);
  } catch {
    return false;
  }
  return names.some((name) => {
    try {
      const vendor = readFileSync(join(root, name, 'vendor'), 'utf8').trim();
      const kind = readFileSync(join(root, name, 'class'), 'utf8').trim();
      return vendor === NVIDIA_VENDOR && kind.startsWith(DISPLAY_CLASS);
    } catch {
      return false;
    }
  });
}
