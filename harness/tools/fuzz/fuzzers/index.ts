/** Every fuzzer. */
import type { AnyFuzzer } from '../fuzzer.ts';
import { log } from './log.ts';
import { logLines } from './log-lines.ts';
import { mqttClient } from './mqtt-client.ts';
import { sse } from './sse.ts';

export const FUZZERS: readonly AnyFuzzer[] = [sse, log, logLines, mqttClient];
