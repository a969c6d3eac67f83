/** The device suite: registers the sections, nothing else. */
import { suite } from '../../harness/runner/define.ts';
import type { DeviceContext } from '../../harness/targets/opened.ts';
import deployment from './2.1-deployment.ts';
import lifecycle from './2.2-lifecycle.ts';
import statuses from './2.2-statuses.ts';
import cursor from './4.1-cursor.ts';
import header from './4.1-header.ts';
import types from './4.1-types.ts';
import authentication from './5-authentication.ts';
import socket from './5-socket.ts';
import frame from './6.1-frame.ts';
import framing from './6.1-framing-safe.ts';
import monotonic from './6.1-monotonic.ts';
import client from './6.2-client.ts';
import heartbeat from './6.2-heartbeat.ts';
import log from './6.2-log.ts';
import replay from './6.2-replay.ts';
import restart from './6.2-restart.ts';
import past from './6.2-retained.ts';
import seam from './6.2-seam.ts';
import sequences from './6.2-sequences.ts';
import subscribers from './6.2-subscribers.ts';
import wholeLog from './6.2-whole-log.ts';
import eventTypes from './6.3-event-types.ts';
import expired from './7-expired.ts';
import versioning from './9-versioning.ts';
import robustness from './robustness.ts';

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
  sequences,
  subscribers,
  client,
  eventTypes,
  log,
  restart,
  expired,
  versioning,
  robustness,
]);
