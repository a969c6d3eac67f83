import { suite } from '../../harness/runner/define.ts';
import type { Suite } from '../../harness/runner/types.ts';
import type { ClientContext } from '../../harness/targets/opened.ts';
import { checks as deviceApi } from './4.1-device-api.ts';
import { checks as platformApi } from './4.2-platform-api.ts';
import { checks as keysAndVersions } from './5-keys-and-versions.ts';
import { checks as stream } from './6.1-stream.ts';
import { checks as connections } from './6.2-connections.ts';
import { checks as delivery } from './6.2-delivery.ts';
import { checks as errors } from './7-errors.ts';
import { checks as pages } from './8-pages.ts';

const sections = [stream, deviceApi, delivery, connections, pages, platformApi, keysAndVersions, errors];
export const clientSuite: Suite<ClientContext> = suite('client', sections);
