/** The client from its environment: the job, where the server is, and what the caller asks for. */
import {
  CLIENT_JOBS,
  CLIENT_PLACES,
  CLIENT_VARIABLES,
  type ClientValues,
  jobOf,
} from '../../harness/contract/client.ts';
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
  const names = Object.entries(CLIENT_VARIABLES);
  const wanted: ClientValues = Object.fromEntries(names.map(([name, variable]) => [name, variables[variable]]));
  const { socket, discovery, deviceUrl, platformUrl, platformKey = '', platformVersion = '' } = wanted;
  if (wanted.job === 'describe') {
    how.print(JSON.stringify({ jobs: CLIENT_JOBS, reaches: CLIENT_PLACES, deduplicates: true, heartbeat: true }));
    return 0;
  }
  const job = CLIENT_JOBS.find((each) => each === wanted.job);
  if (job === undefined) {
    how.complain(`MUSTER_JOB=${wanted.job}: known are describe and ${CLIENT_JOBS.join(', ')}`);
    return USAGE;
  }
  if (job === 'follow') {
    const heartbeatSeconds = Number(wanted.heartbeatSeconds ?? USUAL_HEARTBEAT_SECONDS);
    await follow({ ...how, socket, discovery, url: deviceUrl, heartbeatSeconds });
    return 0;
  }
  const url = jobOf(job).api === 'device' ? deviceUrl : platformUrl;
  const access = { key: platformKey, version: platformVersion };
  return await makeCall({ ...how, job, url, socket, discovery, access, wanted });
}
