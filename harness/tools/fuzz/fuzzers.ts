/** Lists all fuzzers; the tool runs each fuzzer in a separate process, which an input may kill. */
import { openSync } from 'node:fs';
import { noteTask, serveTask } from '../measure/process.ts';
import { answers } from './answers.ts';
import { type AnyFuzzer, runSession, type SessionResult } from './engine.ts';
import { http } from './http.ts';
import { json } from './json.ts';
import { logLines } from './log.ts';
import { sse, streams } from './sse.ts';

export const FUZZERS: readonly AnyFuzzer[] = [json, http, answers, logLines, sse, streams];

export type FuzzNote = { tried: number } | { find: { wrong: string; input: unknown } };

const TELL_MS = 1_000;

export const tasks = {
  attack: async (name: string, seed: number, ms: number, current: string): Promise<SessionResult> => {
    const fuzzer = FUZZERS.find((one) => one.name === name);
    if (fuzzer === undefined) throw new Error(`no fuzzer is called ${name}`);
    const note = (what: FuzzNote): void => noteTask(what);
    let lastNote = 0;
    return await runSession(fuzzer, {
      seed,
      ms,
      inputFd: openSync(current, 'w+'),
      onAttack: (tried) => {
        if (performance.now() - lastNote < TELL_MS) return;
        lastNote = performance.now();
        note({ tried });
      },
      onFind: (find) => note({ find }),
    });
  },
};

if (import.meta.main) serveTask(tasks);
