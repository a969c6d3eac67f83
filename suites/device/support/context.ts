/** What a device check is given, and the shape in which it is declared. */
import { checks } from '../../../harness/check/define.ts';
import type { CheckContext } from '../../../harness/check/types.ts';
import type { DeviceContext } from '../../../harness/target/device.ts';

export type Device = DeviceContext & CheckContext;

export const check = checks<DeviceContext>();
