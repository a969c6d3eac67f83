/** Defects that are planted in robots of a fleet. */
import type { DeviceDefect } from '../../defects/device/index.ts';
import type { HostConfig } from './host.ts';

/** Imported on demand, because the defects are many and rarely used. */
export async function defectsOf({ members, defects }: HostConfig): Promise<Map<number, DeviceDefect>> {
  const wanted = members.filter((robot) => defects[robot] !== undefined);
  if (wanted.length === 0) return new Map();
  const { deviceDefect } = await import('../../defects/device/index.ts');
  return new Map(wanted.map((robot) => [robot, deviceDefect(defects[robot] ?? '')]));
}
