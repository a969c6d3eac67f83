/** Every fuzzer. */
import type { AnyFuzzer } from '../fuzzer.ts';
import { json } from './json.ts';
import { log } from './log.ts';
import { logLines } from './log-lines.ts';
import { mqttClient } from './mqtt-client.ts';
import { sse } from './sse.ts';

export const FUZZERS: readonly AnyFuzzer[] = [json, sse, log, logLines, mqttClient];
