/**
 * One robot that starts ahead of its fleet. A failure that would keep every other robot away too ends the canary at once: a refusal,
 * or an address where nobody or the wrong server listens. A failure that may pass (a slow, restarting or throttling platform) does not.
 */
import { ApiError } from '../../common/platform-http.ts';
import { BrokerError, NotMqtt } from '../../device/uplink/mqtt.ts';
import { masked, type PlatformAddress } from '../platform/client.ts';
import { isPassing, isPermanent as isPermanentFailure, PlatformFailure } from '../platform/failure.ts';
import type { Robot } from '../robot/robot.ts';
import { type Deadlines, monotonicMs } from '../schedule/scheduler.ts';
import type { CanaryOutcome, CanaryStep } from './host.ts';

const TIMEOUT_MS = 10_000;
/** A single refused connection may be a restart of the server. */
const ATTEMPTS = 2;
/** Decides from the failures of one robot whether others would come online. */
export class Canary {
  readonly #platform: PlatformAddress | undefined;
  readonly #fatal = Promise.withResolvers<Error>();
  #permanentFailures = 0;
  #last: Error | undefined;

  constructor(platform: PlatformAddress | undefined) {
    this.#platform = platform;
  }

  /** Call when an attempt failed that will be retried. */
  failed(error: Error): void {
    this.#last = error;
    if (isPermanent(error)) this.#permanentFailures += 1;
    if (this.#permanentFailures >= ATTEMPTS) this.#fatal.resolve(error);
  }

  /** `started` settles when the robot is online or refused. Never rejects. */
  async outcomeOf(robot: Robot, started: Promise<void>, deadlines: Deadlines): Promise<CanaryOutcome> {
    const deadline = deadlines.at(monotonicMs() + TIMEOUT_MS);
    try {
      const ended = await Promise.race([
        started.then(
          () => 'online' as const,
          (error: unknown) => error as Error,
        ),
        this.#fatal.promise,
        deadline.promise,
      ]);
      if (ended === 'online' || robot.state === 'online') return { end: 'online' };
      if (ended === undefined) return this.#outcome('slow', this.#last);
      return this.#outcome(mayPass(ended) ? 'slow' : 'fatal', ended);
    } finally {
      deadline.finish();
    }
  }

  #outcome(end: 'fatal' | 'slow', error: Error | undefined): CanaryOutcome {
    if (error === undefined) return { end };
    const status = error instanceof ApiError || error instanceof PlatformFailure ? error.status : 0;
    const message = masked(error.message, this.#platform);
    return { end, step: stepOf(error), message, ...(status > 0 && { status }) };
  }
}

function stepOf(error: Error): CanaryStep {
  if (error instanceof BrokerError) return 'broker';
  if (error instanceof PlatformFailure) return 'token';
  return error.message.includes('/devices/provision') ? 'provisioning' : 'agent API';
}

/** Of a set-up call alone: the agent's own requests are sent again by the agent. */
const mayPass = (error: Error): boolean => error instanceof PlatformFailure && isPassing(error.status);

const isPermanent = (error: Error): boolean =>
  (error instanceof BrokerError && (error.credentials || error.cause instanceof NotMqtt)) || isPermanentFailure(error);
