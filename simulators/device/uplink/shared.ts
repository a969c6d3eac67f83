/** What the robots of one process share to reach one platform: HTTP connections, time, randomness. */
import type { Clock } from '../../common/clock.ts';
import { PlatformHttp } from '../../common/platform-http.ts';
import { type Random, random } from '../../common/random.ts';
import { transientDelay } from './backoff.ts';
import { pause, systemTime, type Time, timeOf } from './time.ts';

/** The subset of a pino logger that is used; secrets are never passed to it. */
export interface UplinkLogger {
  debug(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Options of every kind of uplink. */
export interface CommonOptions {
  /** Certificate authority of the platform (and its broker), PEM. */
  ca?: string | Buffer;
  /** HTTP connections to the platform, shared by all robots of this uplink. Default 32. */
  connections?: number;
  clock?: Clock;
  /** Clock and timers together, for tests. */
  time?: Time;
  random?: Random;
  log?: UplinkLogger;
}

export interface Shared {
  readonly time: Time;
  readonly random: Random;
  readonly log: UplinkLogger | undefined;
  readonly http: PlatformHttp;
  /** Each running robot holds what is shared; its connections close with the last one. */
  acquire(): void;
  release(): Promise<void>;
}

export function share(options: CommonOptions, baseUrl: URL): Shared {
  const { ca, connections, log } = options;
  const time = options.time ?? (options.clock ? timeOf(options.clock) : systemTime);
  const randomness = options.random ?? random('uplink');
  const beforeRetry = (signal: AbortSignal | undefined) => pause(time, transientDelay(randomness), signal);
  let http: PlatformHttp | undefined;
  let users = 0;
  return {
    time,
    random: randomness,
    log,
    get http() {
      http ??= new PlatformHttp({ baseUrl, ca, connections, beforeRetry });
      return http;
    },
    acquire: () => {
      users++;
    },
    release: async () => {
      users--;
      if (users > 0) return;
      const unused = http;
      http = undefined;
      await unused?.close();
    },
  };
}

/** Throws an error that names the option when `text` is no URL with one of these schemes. */
export function parseUrl(option: string, text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && schemes.includes(url.protocol)) return url;
  throw new Error(
    `${option} is no address: ${schemes.map((scheme) => `${scheme}//host:port`).join(' or ')} is accepted`,
  );
}
