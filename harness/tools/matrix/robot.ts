/** A simulated device on a transport of its choice, with a control API. */
import { join } from 'node:path';
import { type DeviceBehaviour, simulateDevice } from '../../../simulators/device/index.ts';
import { type TransportName, transportInFolder } from '../../../simulators/device/transport/index.ts';
import { scratch } from './scratch.ts';

/** Short, so that waits for heartbeats are; long enough that a busy machine keeps it. */
const HEARTBEAT_MS = 2000;
const SEED = 11;
/** Events of a past that a compaction has cut off, so that what needs no control finds something to judge. */
const PAST_EVENTS = 30;

export interface Robot extends AsyncDisposable {
  /** How it is reached: the field of its transport, and its control API. */
  place: { socket?: string; discovery?: string; control: string };
}

export async function startRobot(options: {
  transport: TransportName;
  /** Right when left out. */
  behaviour?: DeviceBehaviour;
  /** Nothing has ever happened on it. */
  fresh?: boolean;
}): Promise<Robot> {
  await using starting = new AsyncDisposableStack();
  const { path } = starting.use(scratch());
  const control = join(path, 'control.sock');
  const device = starting.use(
    await simulateDevice({
      dir: join(path, 'robot'),
      ...transportInFolder(options.transport, path),
      control: { path: control },
      heartbeatMs: HEARTBEAT_MS,
      seed: SEED,
      ...(options.behaviour === undefined ? {} : { behaviour: options.behaviour }),
    }),
  );
  if (options.fresh !== true) {
    await device.publish(PAST_EVENTS);
    await device.compact();
    await device.deploy();
    // Only where there is an error does it show how statuses are merged.
    await device.deploy({ activity_status: 'queued', error_status: 'retrying' });
  }
  const all = starting.move();
  return { place: { ...device.address, control }, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
