/** Draws the perturbation of a seed: one that some exchange can show, and a client can notice. */
import { random } from '../../../simulators/common/random.ts';
import { deviceChange } from './draw-device.ts';
import { platformChange } from './draw-platform.ts';
import { kindsOf, type Perturbation } from './perturbation.ts';
import type { Server, Survey } from './servers.ts';

const OPEN_SHARE = 0.2;

export function drawPerturbation(
  api: Perturbation['api'],
  seed: number,
  servers: readonly [Server, Survey][],
): Perturbation {
  const chance = random(`${api}/${seed}`);
  const [server, survey] = chance.pick(servers.flatMap((one) => Array.from({ length: one[0].weight }, () => one)));
  const origin = { api, seed, server: server.name };
  if (chance.chance(OPEN_SHARE)) {
    const kind = chance.pick([...kindsOf('json', 'bytes'), ...(api === 'device' ? kindsOf('stream') : [])]);
    const isWide = chance.chance(0.6) || !kindsOf('json').includes(kind);
    const operations = api === 'platform' ? [...survey.keys()] : ['GET /deployments/current', 'GET /events'];
    return { ...origin, kind, cell: isWide ? {} : { operation: chance.pick(operations) } };
  }
  for (;;) {
    const made = api === 'device' ? deviceChange(chance) : platformChange({ chance, server, survey });
    if (made !== undefined) return { ...origin, ...made };
  }
}
