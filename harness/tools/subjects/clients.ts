/** Clients that run in this process: the reference client, and clients that do nothing useful. */
import { once } from 'node:events';
import type { ClientBehaviour } from '../../../simulators/client/behaviour.ts';
import { runClient } from '../../../simulators/client/run.ts';
import { CALL_JOBS, CLIENT_VARIABLES, type ClientJob, filledIn, JOB_TABLE, jobOf } from '../../contract/client.ts';
import type { ClientListener, RunningClient, StartClient } from '../../targets/opened.ts';

/** Resolves with the exit code, where any value but a number means 0. */
export type InProcessClient = (
  variables: Readonly<Record<string, string>>,
  print: (line: string) => void,
  signal: AbortSignal,
  complain: (text: string) => void,
) => Promise<unknown>;

export const inProcess =
  (run: InProcessClient): StartClient =>
  ({ variables }, { line, complaint, ended }: ClientListener): RunningClient => {
    const over = new AbortController();
    const running = {
      how: undefined as string | undefined,
      code: undefined as number | undefined,
      diagnostics: '',
      stop: async (): Promise<void> => {
        over.abort();
        await done;
      },
    };
    const complain = (text: string): void => {
      running.diagnostics += `${text}\n`;
      complaint?.(text);
    };
    // Starts later, so that the caller receives the first output.
    const done = Promise.resolve()
      .then(() => run(variables, (text) => !over.signal.aborted && line(text), over.signal, complain))
      .catch((error: unknown) => {
        complain(String(error));
        return 1;
      })
      .then((endedWith) => {
        if (over.signal.aborted) return;
        running.code = typeof endedWith === 'number' ? endedWith : 0;
        running.how = `ended with exit code ${running.code}; the last lines that it wrote:\n${running.diagnostics}`;
        ended();
      });
    return running;
  };

export const referenceWith =
  (behaviour: () => ClientBehaviour): InProcessClient =>
  (variables, print, signal, complain) =>
    runClient({ variables, behaviour: behaviour(), signal, print, complain });

/** Clients on which no MUST check may pass. */
export const NULL_CLIENTS: readonly { name: string; run: InProcessClient }[] = [
  { name: 'exits-at-once', run: async () => {} },
  { name: 'hangs', run: (_, __, signal) => until(signal) },
  {
    name: 'asks-and-hangs',
    run: async (variables, _, signal) => {
      const answer = await ask(variables, signal);
      await answer?.text().catch(() => '');
      await until(signal);
    },
  },
  {
    name: 'asks-and-ends',
    run: async (variables, _, signal) => void (await (await ask(variables, signal))?.text().catch(() => '')),
  },
  {
    name: 'echoes',
    run: async (variables, print, signal) => {
      while (!signal.aborted) {
        const answer = await ask(variables, signal);
        const text = new TextDecoder();
        try {
          for await (const piece of answer?.body ?? [])
            for (const each of text.decode(piece, { stream: true }).split('\n')) print(each);
        } catch {
          // The loop sends the request again.
        }
      }
    },
  },
  {
    name: 'says-everything',
    run: async (_, print, signal) => {
      claim(print);
      await until(signal);
    },
  },
  {
    name: 'asks-and-claims',
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

function ask(variables: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response | undefined> {
  const { api, request, given } = jobOf(variables[CLIENT_VARIABLES.job] as ClientJob);
  const base = variables[api === 'device' ? CLIENT_VARIABLES.deviceUrl : CLIENT_VARIABLES.platformUrl];
  const url = `${base}${filledIn(request.path, given)}`;
  return fetch(url, { method: request.method, signal }).catch(() => undefined);
}

async function until(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
