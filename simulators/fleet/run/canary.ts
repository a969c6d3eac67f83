/** Tries a robot of a fleet ahead of the others, so that what would keep all of them away is told within seconds. */

import type { TrialOutcome } from '../host/canary.ts';
import type { PlatformAddress } from '../host/host.ts';
import type { Hosts } from '../processes/hosts.ts';

/** What a platform asks for at least, unless it says otherwise. */
const USUAL_KEY_BITS = 2048;

interface TrialOptions {
  keyBits: number;
  platform: PlatformAddress;
  defects?: Record<number, string>;
  nameOf(robot: number): string;
  /** Takes what is merely slow. */
  warnings: string[];
}

/** Resolves with what keeps every robot away and which option changes it; undefined when the fleet may begin. */
export async function tryOut(hosts: Hosts, options: TrialOptions): Promise<string | undefined> {
  const { defects = {}, nameOf, warnings } = options;
  const { host, members } = hosts.first();
  const sound = members.filter((robot) => defects[robot] === undefined);
  // What is wrong with one robot alone, e.g. that its name is taken, keeps no other away.
  const candidates = [...new Set([sound.at(0), sound.at(-1)])].filter((robot) => robot !== undefined);
  let told: string | undefined;
  for (const robot of candidates) {
    // A host that dies is told of when the fleet is prepared.
    const outcome = await host.tryOut(robot).catch(() => undefined);
    if (outcome === undefined || outcome.end === 'online') return undefined;
    const name = `${nameOf(robot)}, tried ahead of the others,`;
    if (outcome.end === 'slow') {
      warnings.push(`${name} ${slowWords(outcome)}`);
      return undefined;
    }
    told ??= `${name} ${hopelessWords(outcome, options)}`;
    if (outcome.step !== 'provisioning') break;
  }
  return told;
}

function hopelessWords(outcome: TrialOutcome, settings: TrialOptions): string {
  const { message = 'was stopped' } = outcome;
  const remedy = remedyFor(outcome, settings);
  return `did not come online, and no other would: ${message}${remedy === undefined ? '' : `; ${remedy}`}`;
}

function slowWords({ message, step }: TrialOutcome): string {
  const why = message === undefined ? '' : `: ${message}`;
  const remedy = step === 'broker' ? `; ${BROKER}` : '';
  return `is not online yet${why}${remedy}; the fleet starts all the same`;
}

const BROKER =
  '--mqtt mqtt://HOST:PORT says where the platform\'s broker is (`muster simulate platform` prints it as "mqtt" when it is ready)';

function remedyFor({ step, status }: TrialOutcome, { keyBits, platform }: TrialOptions): string | undefined {
  switch (step) {
    case 'broker':
      return BROKER;
    case 'token':
      return 'robots are provisioned with the API key, which needs the scope for provisioning tokens';
    case 'provisioning':
      if (status === 404) return `--agent-url says where /agent/v1 lies (now at ${platform.agentUrl})`;
      if (status !== undefined && keyBits < USUAL_KEY_BITS) {
        return `the keys of the robots have ${keyBits} bits: --key-bits ${USUAL_KEY_BITS} makes longer ones (\`muster simulate platform --min-key-bits ${keyBits}\` takes them as they are)`;
      }
      return status === undefined ? `--agent-url says where /agent/v1 lies (now at ${platform.agentUrl})` : undefined;
    default:
      return undefined;
  }
}
