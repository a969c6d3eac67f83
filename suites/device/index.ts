import { suite } from '../../harness/runner/define.ts';
import type { DeviceContext } from '../../harness/targets/opened.ts';
import { checks as deployments } from './2-deployments.ts';
import { checks as events } from './4.1-events.ts';
import { checks as transports } from './5-transports.ts';
import { checks as frames } from './6.1-frames.ts';
import { checks as heartbeat } from './6.2-heartbeat.ts';
import { checks as log } from './6.2-log.ts';
import { checks as replay } from './6.2-replay.ts';
import { checks as retained } from './6.2-retained.ts';
import { checks as subscribers } from './6.2-subscribers.ts';
import { checks as eventTypes } from './6.3-event-types.ts';
import { checks as expired } from './7-expired.ts';
import { checks as versioning } from './9-versioning.ts';
import { checks as robustness } from './robustness.ts';

export const deviceSuite = suite<DeviceContext>('device', [
  deployments,
  events,
  transports,
  frames,
  heartbeat,
  replay,
  retained,
  subscribers,
  eventTypes,
  log,
  expired,
  versioning,
  robustness,
]);
