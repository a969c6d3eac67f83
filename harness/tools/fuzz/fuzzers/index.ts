/** Every fuzzer. */
import type { AnyFuzzer } from '../fuzzer.ts';
import { answers } from './answers.ts';
import { http } from './http.ts';
import { json } from './json.ts';
import { log } from './log.ts';
import { logLines } from './log-lines.ts';
import { mqttBroker } from './mqtt.ts';
import { mqttClient } from './mqtt-client.ts';
import { sse } from './sse.ts';
import { streams } from './streams.ts';

export const FUZZERS: readonly AnyFuzzer[] = [json, http, answers, mqttBroker, mqttClient, log, logLines, sse, streams];
