/** Registers the sections of the device suite. */
import { suite } from '../../harness/runner/define.ts';
import type { DeviceContext } from '../../harness/targets/opened.ts';
import { checks as deployment } from './2.1-deployment.ts';
import { checks as lifecycle } from './2.2-lifecycle.ts';
import { checks as statuses } from './2.2-statuses.ts';
import { checks as cursor } from './4.1-cursor.ts';
import { checks as header } from './4.1-header.ts';
import { checks as types } from './4.1-types.ts';
import { checks as authentication } from './5-authentication.ts';
import { checks as socket } from './5-socket.ts';
import { checks as frame } from './6.1-frame.ts';
import { checks as framing } from './6.1-framing-safe.ts';
import { checks as monotonic } from './6.1-monotonic.ts';
import { checks as client } from './6.2-client.ts';
import { checks as heartbeat } from './6.2-heartbeat.ts';
import { checks as log } from './6.2-log.ts';
import { checks as replay } from './6.2-replay.ts';
import { checks as restart } from './6.2-restart.ts';
import { checks as past } from './6.2-retained.ts';
import { checks as seam } from './6.2-seam.ts';
import { checks as subscribers } from './6.2-subscribers.ts';
import { checks as wholeLog } from './6.2-whole-log.ts';
import { checks as eventTypes } from './6.3-event-types.ts';
import { checks as expired } from './7-expired.ts';
import { checks as versioning } from './9-versioning.ts';
import { checks as robustness } from './robustness.ts';

export const deviceSuite = suite<DeviceContext>('device', [
  deployment,
  statuses,
  lifecycle,
  cursor,
  types,
  authentication,
  socket,
  frame,
  framing,
  monotonic,
  heartbeat,
  replay,
  header,
  past,
  seam,
  wholeLog,
  subscribers,
  client,
  eventTypes,
  log,
  restart,
  expired,
  versioning,
  robustness,
]);
