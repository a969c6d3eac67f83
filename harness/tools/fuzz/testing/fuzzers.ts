import type { Fuzzer } from '../fuzzer.ts';
import { answers, http } from '../http.ts';
import { json } from '../json.ts';
import { logLines } from '../log.ts';
import { sse, streams } from '../sse.ts';

export const FUZZERS = { answers, http, json, 'log-lines': logLines, sse, streams } as unknown as Readonly<
  Record<string, Fuzzer<unknown>>
>;
