/** Starts one robot before all other robots, to find within seconds a failure that hits every robot. */
import { defined } from '../../../harness/common/defined.ts';
import { ApiError } from '../../common/platform-http.ts';
import { BrokerError, NotMqtt } from '../../device/uplink/mqtt.ts';
import { isPassing, isPermanent as isPermanentFailure, masked, PlatformFailure } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { type Deadlines, monotonicMs } from '../schedule/clock.ts';
import type { CanaryOutcome, HostConfig } from './host.ts';

/** Minimum number of bits of an RSA key that most platforms accept. */
const USUAL_KEY_BITS = 2048;

type CanaryConfig = Pick<HostConfig, 'platform' | 'keyBits'>;

export class Canary {
  readonly #config: CanaryConfig;
  readonly #fatal = Promise.withResolvers<Error>();
  #permanentFailures = 0;
  #last: Error | undefined;

  constructor(config: CanaryConfig) {
    this.#config = config;
  }

  failed(error: Error): void {
    this.#last = error;
    if (isPermanent(error)) this.#permanentFailures += 1;
    // Ignores a single refused connection, because the server may be restarting.
    if (this.#permanentFailures >= 2) this.#fatal.resolve(error);
  }

  async outcomeOf(robot: Robot, started: Promise<void>, deadlines: Deadlines): Promise<CanaryOutcome> {
    const deadline = deadlines.at(monotonicMs() + 10_000);
    try {
      const settled = started.then(() => 'online' as const).catch((error: Error) => error);
      const ended = await Promise.race([settled, this.#fatal.promise, deadline.promise]);
      if (ended === 'online' || robot.state === 'online') return { end: 'online' };
      // Reports `slow`, not a failure, if the platform is only busy.
      if (ended !== undefined && !(ended instanceof PlatformFailure && isPassing(ended.status)))
        return this.#fatalOutcome(robot.name, ended);
      const error = ended ?? this.#last;
      const why = error === undefined ? '' : `: ${masked(error.message, this.#config.platform)}`;
      const remedy = error instanceof BrokerError ? `; ${BROKER_REMEDY}` : '';
      const message = `the canary ${robot.name} is not online yet${why}${remedy}; the fleet starts anyway`;
      return { end: 'slow', message };
    } finally {
      deadline.finish();
    }
  }

  #fatalOutcome(name: string, error: Error): CanaryOutcome {
    const { end, remedy } = judged(error, this.#config);
    const why = [masked(error.message, this.#config.platform), ...(remedy === undefined ? [] : [remedy])].join('; ');
    return { end, message: `the canary ${name} did not come online, and no other robot would: ${why}` };
  }
}

const BROKER_REMEDY =
  '--mqtt mqtt://HOST:PORT sets the address of the broker (`muster simulate platform` prints it as "mqtt" when it is ' +
  'ready)';

function judged(error: Error, config: CanaryConfig): { end: 'refused' | 'fatal'; remedy?: string } {
  if (error instanceof BrokerError) return { end: 'fatal', remedy: BROKER_REMEDY };
  if (error instanceof PlatformFailure) {
    return { end: 'fatal', remedy: 'the API key provisions the robots and needs the scope for provisioning tokens' };
  }
  if (!error.message.includes('/devices/provision')) return { end: 'fatal' };
  const agentUrl = `--agent-url sets the base URL of /agent/v1 (now ${config.platform?.agentUrl})`;
  const remedy = error instanceof ApiError && error.status !== 404 ? provisionRemedy(error, config) : agentUrl;
  return { end: 'refused', ...defined({ remedy }) };
}

function provisionRemedy(error: ApiError, { keyBits }: CanaryConfig): string | undefined {
  if (error.status === 409) {
    return (
      'a device of this name has another key: --state FOLDER names the keys of the run that made it, and ' +
      '--name-prefix NAME makes devices with other names'
    );
  }
  if (![400, 422].includes(error.status) || keyBits >= USUAL_KEY_BITS) return undefined;
  return (
    `the robots have ${keyBits}-bit keys: use --key-bits ${USUAL_KEY_BITS} (\`muster simulate platform ` +
    `--min-key-bits ${keyBits}\` accepts the short ones)`
  );
}

const isPermanent = (error: Error): boolean =>
  (error instanceof BrokerError && (error.credentials || error.cause instanceof NotMqtt)) || isPermanentFailure(error);
