/**
 * One robot tried ahead of its fleet. What is certain to keep every other robot away too ends the trial at once: a refusal, or an
 * address where nobody listens or somebody else does. Whatever may pass (a platform that is slow, restarts or limits) does not.
 */

import { ApiError } from '../../common/platform-http.ts';
import { BrokerError } from '../../device/uplink/mqtt/broker-error.ts';
import { NotMqtt } from '../../device/uplink/mqtt/connection.ts';
import { PlatformFailure } from '../platform/client.ts';
import type { Robot } from '../robot/robot.ts';
import { monotonicMs } from '../schedule/scheduler.ts';
import type { Waits } from './deadlines.ts';
import { masked, type PlatformAddress } from './host.ts';

/** Which step failed: the provisioning token of the Platform API, the request to provision, the broker, or another request. */
export type TrialStep = 'token' | 'provisioning' | 'broker' | 'agent API';

export interface TrialOutcome {
  /** `slow`: nothing was refused, but it was not online in time. */
  end: 'online' | 'hopeless' | 'slow';
  step?: TrialStep;
  message?: string;
  /** HTTP status of a refusal. */
  status?: number;
}

/** A trial that is not decided by then says nothing against the platform. */
const PATIENCE_MS = 10_000;
/** Once may be a restart of whatever should listen there. */
const ATTEMPTS = 2;
/** Nobody is there, or not whom the certificate should name: waiting changes nothing. */
const CERTAIN = /^(ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ERR_TLS_.*|ERR_SSL_.*|.*CERT.*|UNABLE_TO_.*)$/;

export class Trial {
  readonly #platform: PlatformAddress | undefined;
  readonly #hopeless = Promise.withResolvers<Error>();
  #certain = 0;
  #last: Error | undefined;

  constructor(platform: PlatformAddress | undefined) {
    this.#platform = platform;
  }

  /** Tells of an attempt that failed and will be made again. */
  failed(error: Error): void {
    this.#last = error;
    if (isCertain(error)) this.#certain += 1;
    if (this.#certain >= ATTEMPTS) this.#hopeless.resolve(error);
  }

  /** `started` is the start of that robot until it is online. Never rejects. */
  async outcomeOf(robot: Robot, started: Promise<void>, waits: Waits): Promise<TrialOutcome> {
    const deadline = waits.for(monotonicMs() + PATIENCE_MS);
    try {
      const ended = await Promise.race([
        started.then(
          () => 'online' as const,
          (error: unknown) => error as Error,
        ),
        this.#hopeless.promise,
        deadline.promise,
      ]);
      if (ended === 'online' || robot.state === 'online') return { end: 'online' };
      if (ended === undefined) return this.#told('slow', this.#last);
      return this.#told(mayPass(ended) ? 'slow' : 'hopeless', ended);
    } finally {
      deadline.finish();
    }
  }

  #told(end: 'hopeless' | 'slow', error: Error | undefined): TrialOutcome {
    if (error === undefined) return { end };
    const status = error instanceof ApiError || error instanceof PlatformFailure ? error.status : 0;
    const message = masked(error.message, this.#platform);
    return { end, step: stepOf(error), message, ...(status > 0 && { status }) };
  }
}

function stepOf(error: Error): TrialStep {
  if (error instanceof BrokerError) return 'broker';
  if (error instanceof PlatformFailure) return 'token';
  return error.message.includes('/devices/provision') ? 'provisioning' : 'agent API';
}

/** A platform that is busy, limits or restarts answers so. */
function mayPass(error: Error): boolean {
  if (!(error instanceof PlatformFailure)) return false;
  return error.status === 0 || error.status >= 500 || [408, 425, 429].includes(error.status);
}

function isCertain(error: Error): boolean {
  if (error instanceof BrokerError && (error.credentials || error.cause instanceof NotMqtt)) return true;
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    const of: unknown[] = at instanceof AggregateError ? at.errors : [at];
    if (of.some((each) => CERTAIN.test(String((each as NodeJS.ErrnoException).code)))) return true;
  }
  return false;
}
