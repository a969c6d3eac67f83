/** Runs a canary ahead of the fleet, so that a failure of all robots shows within seconds, with the option that mends it. */
import type { CanaryOutcome } from '../host/host.ts';
import type { PlatformAddress } from '../platform/client.ts';
import type { Hosts } from '../processes/hosts.ts';

/** The smallest key that a platform accepts unless it says otherwise. */
const USUAL_KEY_BITS = 2048;

export interface CanaryOptions {
  keyBits: number;
  platform: PlatformAddress;
  /** Robots with a planted defect, which are no canaries. */
  defects: Record<number, string>;
  nameOf(robot: number): string;
  /** Receives a message when the canary is merely slow. */
  warnings: string[];
}

/** Resolves with why no robot would come online and which option mends it; with undefined when the fleet may start. */
export async function runCanary(hosts: Hosts, options: CanaryOptions): Promise<string | undefined> {
  const { defects, nameOf, warnings } = options;
  const { host, members } = await hosts.first();
  const sound = members.filter((robot) => defects[robot] === undefined);
  // A second canary, because the first may fail for a reason that concerns it alone, e.g. a name that is taken.
  const candidates = [...new Set([sound.at(0), sound.at(-1)])].filter((robot) => robot !== undefined);
  let failure: string | undefined;
  for (const robot of candidates) {
    // `prepare` reports a host that dies here.
    const outcome = await host.runCanary(robot).catch(() => undefined);
    if (outcome === undefined || outcome.end === 'online') return undefined;
    if (outcome.end === 'slow') {
      warnings.push(slowMessage(nameOf(robot), outcome));
      return undefined;
    }
    failure ??= fatalMessage(nameOf(robot), outcome, options);
    if (outcome.step !== 'provisioning') break;
  }
  return failure;
}

function fatalMessage(name: string, outcome: CanaryOutcome, options: CanaryOptions): string {
  const { message = 'it was stopped' } = outcome;
  const remedy = remedyFor(outcome, options);
  return `the canary ${name} did not come online, and no other robot would: ${message}${remedy === undefined ? '' : `; ${remedy}`}`;
}

function slowMessage(name: string, { message, step }: CanaryOutcome): string {
  const why = message === undefined ? '' : `: ${message}`;
  const remedy = step === 'broker' ? `; ${BROKER_REMEDY}` : '';
  return `the canary ${name} is not online yet${why}${remedy}; the fleet starts anyway`;
}

const BROKER_REMEDY =
  '--mqtt mqtt://HOST:PORT sets the address of the broker (`muster simulate platform` prints it as "mqtt" when it is ready)';

function remedyFor({ step, status }: CanaryOutcome, { keyBits, platform }: CanaryOptions): string | undefined {
  const agentUrl = `--agent-url sets the base URL of /agent/v1 (now ${platform.agentUrl})`;
  switch (step) {
    case 'broker':
      return BROKER_REMEDY;
    case 'token':
      return 'the API key provisions the robots and needs the scope for provisioning tokens';
    case 'provisioning':
      if (status === 404 || status === undefined) return agentUrl;
      if (keyBits >= USUAL_KEY_BITS) return undefined;
      return `the robots have ${keyBits}-bit keys: use --key-bits ${USUAL_KEY_BITS} (\`muster simulate platform --min-key-bits ${keyBits}\` accepts the short ones)`;
    default:
      return undefined;
  }
}
