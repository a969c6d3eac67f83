/**
 * Subjects of the client suite: the reference client, and it with every defect and every variant. They run in the matrix's own process,
 * with real sockets; `harness/cli/check-client.long.test.ts` runs the reference as a process.
 */

import type { ClientBehaviour } from '../../../simulators/client/behaviour.ts';
import { referenceBehaviour } from '../../../simulators/client/reference.ts';
import { runClient as runReference } from '../../../simulators/client/run.ts';
import { clientDefects, clientVariants } from '../../../simulators/defects/client/index.ts';
import { clientSuite } from '../../../suites/client/index.ts';
import { Redactor } from '../../client/redact.ts';
import {
  CALL_JOBS,
  CLIENT_JOBS,
  CLIENT_VARIABLES,
  type ClientJob,
  type ClientPlace,
  filledIn,
  JOB_TABLE,
  jobOf,
} from '../../contract/client.ts';
import { DIALECT_NAMES } from '../../contract/versions.ts';
import type { Capability, Report } from '../../runner/types.ts';
import type { ClientEars, ClientRun, StartClient } from '../../targets/opened.ts';
import { behavioursWith } from './simulated.ts';
import { bundled, type Narrowed, NULL_PATIENCE_MS, PATIENCE_MS, runOn, type Subject } from './subjects.ts';

/** What a defect leaves out is waited for. The client runs in this process, so that a busy machine holds up the wait as well. */
const DEFECT_PATIENCE_MS = 3000;
/** These checks wait far more than they work. */
const CHECKS_AT_ONCE = 40;

/** A client that is a function: it prints, and returns its exit code when it ends, or nothing for 0. */
type Run = (
  variables: Readonly<Record<string, string>>,
  print: (line: string) => void,
  signal: AbortSignal,
  complain: (text: string) => void,
) => Promise<unknown>;

/** Starts it in this process. What it throws is how it ends. */
const inProcess =
  (run: Run): StartClient =>
  ({ variables }, { line, ended }: ClientEars): ClientRun => {
    const over = new AbortController();
    let code: number | undefined;
    let how: string | undefined;
    let diagnostics = '';
    const complain = (text: string): void => {
      diagnostics += `${text}\n`;
    };
    // What a client prints is never heard while it is being started.
    const done = Promise.resolve()
      .then(() => run(variables, (text) => !over.signal.aborted && line(text), over.signal, complain))
      .catch((error: unknown) => {
        complain(String(error));
        return 1;
      })
      .then((endedWith) => {
        if (over.signal.aborted) return;
        code = typeof endedWith === 'number' ? endedWith : 0;
        how = `ended with exit code ${code}; the last lines that it wrote:\n${diagnostics}`;
        ended();
      });
    return {
      get how() {
        return how;
      },
      get code() {
        return code;
      },
      get diagnostics() {
        return diagnostics;
      },
      stop: async () => {
        over.abort();
        await done;
      },
    };
  };

const clientWith =
  (behaviour: ClientBehaviour): Run =>
  (variables, print, signal, complain) =>
    runReference({ variables, behaviour, signal, print, complain });

async function runClient(
  run: Run,
  narrowed: Narrowed,
  {
    places = ['url', 'socket', 'discovery'],
    patienceMs = PATIENCE_MS,
  }: { places?: readonly ClientPlace[]; patienceMs?: number } = {},
): Promise<Report> {
  const capabilities = new Set<Capability>([...CLIENT_JOBS, ...places, 'deduplicates', 'heartbeat']);
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
      context: (recorder) => ({
        start,
        versionHeader: DIALECT_NAMES.spec.versionHeader,
        recorder,
        capabilities,
        patienceMs,
      }),
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
    summary: 'Asks once, prints nothing, and never comes back.',
    run: async (variables, _, signal) => {
      const answer = await ask(variables, signal);
      await answer?.text().catch(() => '');
      await until(signal);
    },
  },
  {
    name: 'asks-and-ends',
    summary: 'Asks once, prints nothing, and ends with success.',
    run: async (variables, _, signal) => void (await (await ask(variables, signal))?.text().catch(() => '')),
  },
  {
    name: 'echoes',
    summary: 'Prints what is answered as it comes, over and over.',
    run: async (variables, print, signal) => {
      while (!signal.aborted) {
        const answer = await ask(variables, signal);
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
    summary: 'Asks for nothing, and claims to have seen everything.',
    run: async (_, print, signal) => {
      claim(print);
      await until(signal);
    },
  },
  {
    name: 'asks-and-claims',
    summary: 'Asks once, claims to have seen everything, and ends with success.',
    run: async (variables, print, signal) => {
      await ask(variables, signal);
      claim(print);
    },
  },
];

function claim(print: (line: string) => void): void {
  for (let id = 1; id < 120; id += 1) print(JSON.stringify({ ...JOB_TABLE.follow.claim, id }));
  for (const line of [...CALL_JOBS.map((job) => jobOf(job).claim), { saw: 'gap' }, { saw: 'end' }])
    print(JSON.stringify(line));
}

/** The barest request of each job. */
function ask(variables: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response | undefined> {
  const job = variables[CLIENT_VARIABLES.job] as ClientJob;
  const { api, request, given } = jobOf(job);
  const base = variables[api === 'device' ? CLIENT_VARIABLES.deviceUrl : CLIENT_VARIABLES.platformUrl];
  const url = `${base}${filledIn(request.path, given)}`;
  return fetch(url, { method: request.method, signal }).catch(() => undefined);
}

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
    (variant): Subject => ({
      ...{ api: 'client', kind: 'variant' },
      ...bundled(variant, { client: [variant] }, (changes, narrowed) =>
        runClient((...run) => clientWith(behavioursWith(changes).client)(...run), narrowed),
      ),
    }),
  ),
  ...NULL_CLIENTS.map(
    ({ name, summary, run }): Subject => ({
      ...{ api: 'client', kind: 'null', name, summary },
      run: (narrowed) => runClient(run, narrowed, { patienceMs: NULL_PATIENCE_MS }),
    }),
  ),
];
