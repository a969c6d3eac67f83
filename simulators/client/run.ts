/** The client from its environment: the job, where the server is, and what the caller asks for. */
import { CLIENT_JOBS, CLIENT_PLACES, CLIENT_VARIABLES } from '../../harness/contract/client.ts';
import type { ClientBehaviour } from './behaviour.ts';
import { makeCall } from './calls.ts';
import { follow } from './follow.ts';

const USUAL_HEARTBEAT_SECONDS = 30;
const USAGE = 64;

export interface RunOptions {
  /** By name, as in the environment. */
  variables: Readonly<Record<string, string | undefined>>;
  behaviour: ClientBehaviour;
  signal: AbortSignal;
  print(line: string): void;
  /** Writes to standard error. */
  complain(text: string): void;
}

/** Resolves with the exit code. Rejects with what made it break down. */
export async function runClient({ variables, ...how }: RunOptions): Promise<number> {
  const value = (name: keyof typeof CLIENT_VARIABLES): string | undefined => variables[CLIENT_VARIABLES[name]];
  const device = { socket: value('socket'), discovery: value('discovery') };
  const job = value('job');
  switch (job) {
    case 'describe':
      how.print(JSON.stringify({ jobs: CLIENT_JOBS, reaches: CLIENT_PLACES, deduplicates: true, heartbeat: true }));
      return 0;
    case 'follow': {
      const heartbeatSeconds = Number(value('heartbeatSeconds') ?? USUAL_HEARTBEAT_SECONDS);
      await follow({ ...how, ...device, url: value('deviceUrl'), heartbeatSeconds });
      return 0;
    }
    case 'current':
    case 'list':
    case 'ping':
    case 'deploy':
      return await makeCall({
        ...{ ...how, ...device, job },
        url: value(job === 'current' ? 'deviceUrl' : 'platformUrl'),
        access: { key: value('platformKey') ?? '', version: value('platformVersion') ?? '' },
        collection: value('collection') ?? '',
        limit: numberIn(value('limit')),
        device: value('device') ?? '',
        release: value('release') ?? '',
        pingNanos: numberIn(value('pingNanos')),
      });
    default:
      how.complain(`MUSTER_JOB=${job}: known are describe and ${CLIENT_JOBS.join(', ')}`);
      return USAGE;
  }
}

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
