/** The client suite: followers of a device's event stream, and callers of the Device API and the Platform API. */
import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { ClientContext } from '../../harness/targets/opened.ts';
import { checks as current } from './4.1-current.ts';
import { checks as request } from './4.1-request.ts';
import { checks as deploy } from './4.2-deploy.ts';
import { checks as ping } from './4.2-ping.ts';
import { checks as key } from './5-key.ts';
import { checks as loopback } from './5-loopback.ts';
import { checks as boundaries } from './6.1-boundaries.ts';
import { checks as huge } from './6.1-huge.ts';
import { checks as stream } from './6.1-stream.ts';
import { checks as backOff } from './6.2-back-off.ts';
import { checks as choices } from './6.2-choices.ts';
import { checks as delivery } from './6.2-delivery.ts';
import { checks as dispatch } from './6.2-dispatch.ts';
import { checks as heartbeat } from './6.2-heartbeat.ts';
import { checks as replay } from './6.2-replay.ts';
import { checks as busy } from './7-busy.ts';
import { checks as errors } from './7-errors.ts';
import { checks as expired } from './7-expired.ts';
import { checks as pages } from './8-pages.ts';
import { checks as version } from './9-version.ts';

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
  choices,
  current,
  pages,
  ping,
  deploy,
  key,
  version,
  errors,
  busy,
]);
