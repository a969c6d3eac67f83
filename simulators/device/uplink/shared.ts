/** What uplinks of all kinds use: options, and the connections, time and randomness that robots of one process share. */
import type { Clock } from '../../common/clock.ts';
import { type NetworkError, PlatformHttp } from '../../common/platform-http.ts';
import { type Random, random } from '../../common/random.ts';
import { pause, systemTime, type Time, timeOf, transientDelay } from './time.ts';

/** The methods of a pino logger that are used. Secrets are never passed to it. */
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
  /** Called when a request met a network error and will be sent again. */
  onRetry?: (error: NetworkError) => void;
  /** Called when a request waits because all connections are in use. */
  onCrowded?: () => void;
  log?: UplinkLogger;
}

/** Connections, time and randomness of all robots with one uplink factory. */
export interface Shared {
  readonly time: Time;
  readonly random: Random;
  readonly log: UplinkLogger | undefined;
  readonly http: PlatformHttp;
  /** Called by each robot at its start; the connections close when the last one has released them. */
  acquire(): void;
  release(): Promise<void>;
}

/** What the robots with these options share; connections are opened with the first request. */
export function share(options: CommonOptions, baseUrl: URL): Shared {
  const { ca, connections, log, onCrowded, onRetry } = options;
  const time = options.time ?? (options.clock ? timeOf(options.clock) : systemTime);
  const randomness = options.random ?? random('uplink');
  const beforeRetry = (signal: AbortSignal | undefined, error: NetworkError) => {
    onRetry?.(error);
    return pause(time, transientDelay(randomness), signal);
  };
  let http: PlatformHttp | undefined;
  let users = 0;
  return {
    time,
    random: randomness,
    log,
    get http() {
      http ??= new PlatformHttp({ baseUrl, ca, connections, onCrowded, beforeRetry });
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

/** The URL in an option. Throws an error that names the option when it has none of these schemes. */
export function parseUrl(option: string, text: string, schemes: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url && schemes.includes(url.protocol)) return url;
  throw new Error(
    `${option} is no address: ${schemes.map((scheme) => `${scheme}//host:port`).join(' or ')} is accepted`,
  );
}

/** All items of a list: reads pages until the platform has no more. */
export async function allPages<T>(read: (offset: number) => Promise<{ data: T[]; has_more: boolean }>): Promise<T[]> {
  const items: T[] = [];
  for (;;) {
    const page = await read(items.length);
    items.push(...page.data);
    // A platform that promises more with an empty page would be asked for ever.
    if (!page.has_more || page.data.length === 0) return items;
  }
}
