/**
 * Subjects of the client suite: the reference client, and it with every defect and every variant. They run in the matrix's own process,
 * with real sockets; `harness/cli/check-client.long.test.ts` runs the reference as a process.
 */

import type { ClientBehaviour } from '../../../simulators/client/behaviour.ts';
import { follow } from '../../../simulators/client/follow.ts';
import { referenceBehaviour } from '../../../simulators/client/reference.ts';
import { clientDefects, clientVariants } from '../../../simulators/defects/client/index.ts';
import { clientSuite } from '../../../suites/client/index.ts';
import { Redactor } from '../../client/redact.ts';
import { CLIENT_VARIABLES, type ClientPlace } from '../../contract/client.ts';
import type { Capability, Report } from '../../runner/types.ts';
import type { ClientEars, ClientRun, StartClient } from '../../targets/opened.ts';
import { type Narrowed, NULL_PATIENCE_MS, PATIENCE_MS, runOn, type Subject } from './subjects.ts';

const USUAL_HEARTBEAT_SECONDS = 30;
/** What a defect leaves out is waited for. The client runs in this process, so that a busy machine holds up the wait as well. */
const DEFECT_PATIENCE_MS = 3000;
/** These checks wait far more than they work. */
const CHECKS_AT_ONCE = 40;

/** A client that is a function: it prints, and returns when it ends. */
type Run = (
  variables: Readonly<Record<string, string>>,
  print: (line: string) => void,
  signal: AbortSignal,
) => Promise<void>;

/** Starts it in this process. What it throws is how it ends. */
const inProcess =
  (run: Run): StartClient =>
  (variables, { line, ended }: ClientEars): ClientRun => {
    const over = new AbortController();
    let how: string | undefined;
    // What a client prints is never heard while it is being started.
    const done = Promise.resolve()
      .then(() => run(variables, (text) => !over.signal.aborted && line(text), over.signal))
      .then(
        () => 'ended with exit code 0; it wrote nothing',
        (error: unknown) => `ended with exit code 1; the last lines that it wrote:\n${error}`,
      )
      .then((words) => {
        if (over.signal.aborted) return;
        how = words;
        ended();
      });
    return {
      get how() {
        return how;
      },
      stop: async () => {
        over.abort();
        await done;
      },
    };
  };

const clientWith =
  (behaviour: ClientBehaviour): Run =>
  (variables, print, signal) =>
    follow({
      url: variables[CLIENT_VARIABLES.deviceUrl],
      socket: variables[CLIENT_VARIABLES.socket],
      discovery: variables[CLIENT_VARIABLES.discovery],
      heartbeatSeconds: Number(variables[CLIENT_VARIABLES.heartbeatSeconds] ?? USUAL_HEARTBEAT_SECONDS),
      behaviour,
      signal,
      print,
    });

async function runClient(
  run: Run,
  narrowed: Narrowed,
  {
    places = ['url', 'socket', 'discovery'],
    patienceMs = PATIENCE_MS,
  }: { places?: readonly ClientPlace[]; patienceMs?: number } = {},
): Promise<Report> {
  const capabilities = new Set<Capability>(['follow', ...places, 'deduplicates', 'heartbeat']);
  const start = inProcess(run);
  return await runOn(
    clientSuite,
    {
      description: {
        kind: 'simulator',
        address: 'client',
        capabilities: [...capabilities],
        control: 'none',
        ended: true,
      },
      context: (recorder) => ({ start, recorder, capabilities, patienceMs }),
      unreachable: undefined,
    },
    { redactor: new Redactor(), capabilities, narrowed, concurrency: CHECKS_AT_ONCE },
  );
}

/** What is no client: none of these may pass a MUST. */
const NULL_CLIENTS: readonly { name: string; summary: string; run: Run }[] = [
  { name: 'exits-at-once', summary: 'Ends at once, with success.', run: async () => {} },
  { name: 'hangs', summary: 'Does nothing, for ever.', run: (_, __, signal) => until(signal) },
  {
    name: 'asks-and-hangs',
    summary: 'Asks for the stream, prints nothing, and never comes back.',
    run: async (variables, _, signal) => {
      const answer = await fetch(`${variables[CLIENT_VARIABLES.deviceUrl]}/events`, { signal }).catch(() => undefined);
      await answer?.text().catch(() => '');
      await until(signal);
    },
  },
  {
    name: 'echoes',
    summary: 'Prints the stream as it comes, over and over.',
    run: async (variables, print, signal) => {
      while (!signal.aborted) {
        const answer = await fetch(`${variables[CLIENT_VARIABLES.deviceUrl]}/events`, { signal }).catch(
          () => undefined,
        );
        const text = new TextDecoder();
        try {
          for await (const piece of answer?.body ?? [])
            for (const each of text.decode(piece, { stream: true }).split('\n')) print(each);
        } catch {
          // It asks again.
        }
      }
    },
  },
  {
    name: 'says-everything',
    summary: 'Asks for nothing, and claims to have seen events, gaps and ends.',
    run: async (_, print, signal) => {
      for (let id = 1; id < 120; id += 1)
        print(JSON.stringify({ saw: 'event', id, type: 'deployment.deployed', data: {} }));
      print('{"saw":"gap"}');
      print('{"saw":"end"}');
      await until(signal);
    },
  },
];

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });

export const clientSubjects = (): Subject[] => [
  ...(['url', 'socket', 'discovery'] as const).map(
    (place): Subject => ({
      ...{ api: 'client', kind: 'reference', name: place, summary: 'The reference client.' },
      run: (narrowed) => runClient(clientWith(referenceBehaviour), narrowed, { places: [place] }),
    }),
  ),
  ...clientDefects.map(
    ({ name, summary, breaks, file, behaviour }): Subject => ({
      ...{ api: 'client', kind: 'defect', name, summary, breaks, file },
      run: (narrowed) => {
        const start: Run = (...run) => clientWith(behaviour(referenceBehaviour))(...run);
        return runClient(start, narrowed, { patienceMs: DEFECT_PATIENCE_MS });
      },
    }),
  ),
  ...clientVariants.map(
    ({ name, summary, behaviour }): Subject => ({
      ...{ api: 'client', kind: 'variant', name, summary },
      run: (narrowed) => runClient((...run) => clientWith(behaviour(referenceBehaviour))(...run), narrowed),
    }),
  ),
  ...NULL_CLIENTS.map(
    ({ name, summary, run }): Subject => ({
      ...{ api: 'client', kind: 'null', name, summary },
      run: (narrowed) => runClient(run, narrowed, { patienceMs: NULL_PATIENCE_MS }),
    }),
  ),
];
