/**
 * Hostile answers against the harness's HTTP client and its raw exchange: each ends with an answer or with an error
 * that says whose fault it is.
 */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { type Scratch, scratch } from '../../../simulators/common/testing/scratch.ts';
import { LimitReached, NoAnswer, Unreachable } from '../../client/errors.ts';
import { HttpClient } from '../../client/http.ts';
import { exchange, parseResponse } from '../../client/raw.ts';
import { Recorder } from '../../client/recorder.ts';
import { bytesOf, cuts, type Damage, damaged, damageWith, pieces } from './bytes.ts';
import { type Fuzzer, fuzzer, type Subject } from './engine.ts';
import { answerText } from './http.ts';

interface AnswersInput {
  answers: string[];
  damages: Damage[];
  cuts: number[];
  end: 'end' | 'reset';
  method: 'GET' | 'HEAD';
}

const inputs: fc.Arbitrary<AnswersInput> = fc.record({
  answers: fc.array(answerText, { minLength: 1, maxLength: 3 }),
  damages: fc.oneof(
    fc.constant<Damage[]>([]),
    fc.array(damageWith(['\r\n', '\n', '\r', '\0', ' ', ':', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n']), { maxLength: 2 }),
  ),
  cuts,
  end: fc.constantFrom('end', 'end', 'reset'),
  method: fc.constantFrom('GET', 'GET', 'HEAD'),
});

/** The server always ends the connection, so nothing waits that long. */
const TIMEOUT_MS = 20_000;

class Client implements Subject<AnswersInput> {
  readonly #home: Scratch = scratch();
  readonly #server: Server;
  readonly #http: HttpClient;
  readonly unharmed = true;
  #current: { parts: Buffer[]; end: AnswersInput['end'] } = { parts: [], end: 'end' };

  constructor() {
    this.#server = createServer((socket) => this.#serve(socket));
    const socketPath = join(this.#home.path, 's');
    this.#http = new HttpClient({ endpoint: { origin: 'http://localhost', socketPath }, timeoutMs: TIMEOUT_MS });
  }

  async listen(): Promise<this> {
    this.#server.listen(join(this.#home.path, 's'));
    await once(this.#server, 'listening');
    return this;
  }

  #serve(socket: Socket): void {
    const { parts, end } = this.#current;
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const part of parts) socket.write(part);
      if (end === 'end') socket.end();
      else setImmediate(() => socket.destroy());
    });
  }

  async attack({ answers, damages, cuts: at, end, method }: AnswersInput): Promise<string | undefined> {
    const bytes = bytesOf(damaged(answers.join(''), damages));
    this.#current = { parts: pieces(bytes, at), end };
    const http = this.#http.with({ recorder: new Recorder() });
    const request = { method, path: '/', headers: { connection: 'close' } };
    const whole = await http.request(request).catch(asError);
    if (whole instanceof Error) {
      if (!isExpected(whole)) return `the client fails with ${whole.name}: ${whole.message}`;
    } else if (!(whole.status >= 200 && whole.status <= 999))
      return 'the client takes something for an answer that has no status';
    const text = `${method} / HTTP/1.1\r\nHost: x\r\n\r\n`;
    const raw = await exchange(http, [text], { within: TIMEOUT_MS, methods: [method] }).catch(asError);
    if (raw instanceof Error)
      return isExpected(raw) ? undefined : `the raw exchange fails with ${raw.name}: ${raw.message}`;
    if (raw.end === 'timeout') return 'the raw exchange waits after the server has hung up';
    const [strict] = raw.responses;
    if (raw.end === 'answered' && !(whole instanceof Error) && strict !== undefined) {
      if (strict.status !== whole.status) return 'client and raw exchange read other statuses';
      if (!strict.body.equals(whole.bytes)) return 'client and raw exchange read other bodies';
    }
    return splitWrong(bytes, method);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.close();
    this.#server.close();
    await once(this.#server, 'close');
    this.#home[Symbol.dispose]();
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
const isExpected = (error: Error): boolean =>
  [NoAnswer, Unreachable, LimitReached].some((kind) => error instanceof kind);

/** What is a whole answer, or none for ever, stays so when more bytes come. */
function splitWrong(bytes: Buffer, method: string): string | undefined {
  const whole = parseResponse(bytes, method, false);
  const step = Math.max(1, Math.floor(bytes.length / 200));
  for (let length = 0; length < bytes.length; length += step) {
    const part = parseResponse(bytes.subarray(0, length), method, false);
    if (part !== undefined && !isDeepStrictEqual(part, whole))
      return 'the raw parser reads something else when more bytes come';
  }
  return undefined;
}

const it: Fuzzer<AnswersInput> = {
  name: 'answers',
  about: "hostile answers against the harness's HTTP client and its raw exchange",
  inputs,
  open: () => new Client().listen(),
};

export const answers = fuzzer(it);
