/** Fuzzes Muster's HTTP client with malformed answers; each request must end with an answer or a known error. */

import { createServer } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { LimitReached, NoAnswer, Unreachable } from '../../client/errors.ts';
import type { HttpClient } from '../../client/http.ts';
import { exchange, parseResponse } from '../../client/raw.ts';
import { bytesOf, cuts, type Damage, damagesFrom, piecesOf, withDamages } from './bytes.ts';
import { fuzzer, type Subject } from './engine.ts';
import { answerText } from './http.ts';
import { attackClients } from './servers.ts';

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
    fc.array(damagesFrom(['\r\n', '\n', '\r', '\0', ' ', ':', '0\r\n\r\n', 'HTTP/1.1 200 OK\r\n']), { maxLength: 2 }),
  ),
  cuts,
  end: fc.constantFrom('end', 'end', 'reset'),
  method: fc.constantFrom('GET', 'GET', 'HEAD'),
});

/** Milliseconds to wait for an answer; never reached, because the server always closes the connection. */
const TIMEOUT_MS = 20_000;

function open(): Promise<Subject<AnswersInput>> {
  let parts: Buffer[] = [];
  let end: AnswersInput['end'] = 'end';
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      for (const part of parts) socket.write(part);
      if (end === 'end') socket.end();
      else setImmediate(() => socket.destroy());
    });
  });
  return attackClients(server, TIMEOUT_MS, (http, input: AnswersInput) => {
    const bytes = bytesOf(withDamages(input.answers.join(''), input.damages));
    parts = piecesOf(bytes, input.cuts);
    end = input.end;
    return attack(http, bytes, input.method);
  });
}

async function attack(http: HttpClient, bytes: Buffer, method: string): Promise<string | undefined> {
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
  if (raw.end === 'answered' && !(whole instanceof Error) && strict !== undefined && hasPlainHead(bytes)) {
    if (strict.status !== whole.status) return 'client and raw exchange read other statuses';
    if (!strict.body.equals(whole.bytes)) return 'client and raw exchange read other bodies';
  }
  return splitWrong(bytes, method);
}

/** True if every header line is printable ASCII, which all parsers read alike. */
const hasPlainHead = (bytes: Buffer): boolean => {
  const [head = ''] = bytes.toString('latin1').split('\r\n\r\n');
  return head.split('\r\n').every((line) => /^[ -~]*$/.test(line));
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
const isExpected = (error: Error): boolean =>
  [NoAnswer, Unreachable, LimitReached].some((kind) => error instanceof kind);

/** Describes a change of the parser's result when more bytes arrive, which must never happen. */
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

export const answers = fuzzer<AnswersInput>({
  name: 'answers',
  about: "hostile answers against the harness's HTTP client and its raw exchange",
  inputs,
  open,
});
