/** What a client says of itself, when it is asked with MUSTER_JOB=describe. */
import { readableDuration } from '../../common/durations.ts';
import { Changes } from '../../common/waiting.ts';
import { CLIENT_JOBS, CLIENT_PLACES, CLIENT_VARIABLES, DEVICE_JOBS } from '../../contract/client.ts';
import { type ClientDescription, clientDescription } from '../../contract/client-lines.ts';
import type { Capability } from '../../runner/types.ts';
import type { StartClient } from '../opened.ts';

/** What came of the question. */
export type Described = { said: ClientDescription } | { problem: string };

/** Starts the client once, and waits for its description. */
export async function describeClient(
  start: StartClient,
  label: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<Described> {
  const changes = new Changes();
  let found: { value: unknown } | undefined;
  let over = false;
  const run = start(
    { variables: { [CLIENT_VARIABLES.job]: 'describe' } },
    {
      line: (text) => {
        found ??= objectIn(text);
        changes.announce();
      },
      ended: () => {
        over = true;
        changes.announce();
      },
    },
  );
  const onAbort = (): void => changes.announce();
  signal?.addEventListener('abort', onAbort, { once: true });
  const deadline = performance.now() + timeoutMs;
  try {
    while (found === undefined && !over && signal?.aborted !== true && performance.now() < deadline)
      await changes.next(deadline - performance.now());
    signal?.throwIfAborted();
    if (found === undefined) {
      const why = run.how ?? `it runs, and has printed no such line within ${readableDuration(timeoutMs)}`;
      return {
        problem: `${label} was asked with ${CLIENT_VARIABLES.job}=describe for {"jobs":[…]} in one line: ${why}`,
      };
    }
    const { value } = found;
    if (clientDescription.is(value)) return { said: value };
    const problems = clientDescription.problems(value).map(({ path, message }) => `${path} ${message}`.trim());
    return { problem: `${label} describes itself wrongly: ${problems.join(', ')}` };
  } finally {
    signal?.removeEventListener('abort', onAbort);
    await run.stop();
  }
}

/** Names that Muster does not know, such as jobs of a later contract, say nothing. */
export function capabilitiesOf(said: ClientDescription): Capability[] {
  const reaches = DEVICE_JOBS.some((job) => said.jobs.includes(job)) ? (said.reaches ?? ['url']) : [];
  return [
    ...CLIENT_JOBS.filter((job) => said.jobs.includes(job)),
    ...CLIENT_PLACES.filter((place) => reaches.includes(place)),
    ...(said.deduplicates === true ? (['deduplicates'] as const) : []),
    ...(said.heartbeat === true ? (['heartbeat'] as const) : []),
  ];
}

function objectIn(line: string): { value: unknown } | undefined {
  if (!line.trimStart().startsWith('{')) return undefined;
  try {
    return { value: JSON.parse(line) };
  } catch {
    return undefined;
  }
}
