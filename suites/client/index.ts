/** The client suite: what follows the event stream of a Device API, and what calls either API. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { ClientContext } from '../../harness/targets/opened.ts';
import current from './4.1-current.ts';
import request from './4.1-request.ts';
import deploy from './4.2-deploy.ts';
import ping from './4.2-ping.ts';
import key from './5-key.ts';
import loopback from './5-loopback.ts';
import boundaries from './6.1-boundaries.ts';
import huge from './6.1-huge.ts';
import stream from './6.1-stream.ts';
import backOff from './6.2-back-off.ts';
import delivery from './6.2-delivery.ts';
import dispatch from './6.2-dispatch.ts';
import heartbeat from './6.2-heartbeat.ts';
import replay from './6.2-replay.ts';
import busy from './7-busy.ts';
import errors from './7-errors.ts';
import expired from './7-expired.ts';
import pages from './8-pages.ts';
import version from './9-version.ts';

/** Every check, the plainest first; `suite` refuses two checks with one id. */
export const clientSuite: Suite<ClientContext> = suite('client', [
  stream,
  boundaries,
  huge,
  request,
  dispatch,
  delivery,
  replay,
  loopback,
  heartbeat,
  backOff,
  expired,
  current,
  pages,
  ping,
  deploy,
  key,
  version,
  errors,
  busy,
]);
