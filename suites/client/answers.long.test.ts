/** Tests that the suite's own answers keep the contract, because a client may fail at any other answer. */
import { createParser } from 'eventsource-parser';
import Type from 'typebox';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { deployedPayload, deployment, eventEnvelope } from '../../harness/contract/device-api.ts';
import { listEnvelope, pingResponse } from '../../harness/contract/lists.ts';
import { type Shape, shape } from '../../harness/contract/shape.ts';
import { DEVICE_API_PREFIX } from '../../harness/contract/versions.ts';
import { referenceWith } from '../../harness/tools/subjects/clients.ts';
import { runClientSuite } from '../../harness/tools/subjects/run.ts';
import { referenceBehaviour } from '../../simulators/client/reference.ts';
import { clientSuite } from './index.ts';
import { ClientRequest } from './support/server.ts';

/** Values of enumerations that no version has; checks send them deliberately. */
const UNKNOWN = ['orbiting', 'hibernating'];

/** A platform may omit `round_trip_nanos`, but the suite always sends it. */
const pong = shape('Pong', Type.Required(pingResponse.schema));

const SHAPES: readonly (readonly [route: RegExp, shape: Shape])[] = [
  [/^GET \/beta\/devices$/, listEnvelope],
  [/^POST \/beta\/devices\/\w+\/ping$/, pong],
  [/^POST \/beta\/deployments$/, deployment],
  [new RegExp(`^GET ${DEVICE_API_PREFIX}/deployments/current$`), deployment],
];

const answers: { route: string; text: string }[] = [];
const streams = new Map<ClientRequest, string>();

beforeAll(async () => {
  const { answer, send } = ClientRequest.prototype;
  vi.spyOn(ClientRequest.prototype, 'answer').mockImplementation(function (this: ClientRequest, status, body, headers) {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    if (status === 200) answers.push({ route: `${this.method} ${this.path}`, text });
    answer.call(this, status, body, headers);
  });
  vi.spyOn(ClientRequest.prototype, 'send').mockImplementation(function (this: ClientRequest, piece) {
    // One latin1 character per byte, because a piece may end within a character.
    const text = typeof piece === 'string' ? Buffer.from(piece).toString('latin1') : piece.toString('latin1');
    streams.set(this, (streams.get(this) ?? '') + text);
    return send.call(this, piece);
  });
  // Checks of choices send answers that no agent sends.
  const only = clientSuite.checks.map(({ id }) => id).filter((id) => !id.startsWith('client.choices.'));
  const client = referenceWith(() => referenceBehaviour);
  const report = await runClientSuite(client, { only });
  expect(report.summary.fail).toBe(0);
}, 600_000);
afterAll(() => void vi.restoreAllMocks());

const problems = (due: Shape, value: unknown): string[] =>
  due
    .problems(value)
    .filter(({ path, message }) => !(message.startsWith('must be one of') && UNKNOWN.includes(at(value, path))))
    .map(({ path, message }) => `${path} ${message}`);

const at = (value: unknown, path: string): string =>
  path
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => Object(part)[name], value) as string;

test('every answer to a call has the shape of its route', () => {
  const seen = new Set<Shape>();
  for (const { route, text } of answers) {
    const due = SHAPES.find(([each]) => each.test(route))?.[1];
    if (due === undefined) expect.fail(`${route} has no shape`);
    seen.add(due);
    expect(problems(due, JSON.parse(text)), `${route}: ${text.slice(0, 500)}`).toEqual([]);
  }
  expect(seen.size).toBe(new Set(SHAPES.map(([, due]) => due)).size);
});

test('events of a stream are valid envelopes with payload, except a malformed one', () => {
  const unreadable: string[] = [];
  let events = 0;
  for (const stream of streams.values()) {
    const parser = createParser({
      onEvent({ id: sent, data }) {
        let envelope: unknown;
        try {
          envelope = JSON.parse(data);
        } catch {
          unreadable.push(data);
          return;
        }
        events += 1;
        const { id, type, data: payload } = Object(envelope);
        const wrong = problems(eventEnvelope, envelope);
        if (type === 'deployment.deployed') wrong.push(...problems(deployedPayload, payload));
        if (sent !== undefined && Number(sent) !== id) wrong.push(`id ${sent}`);
        expect(wrong, data.slice(0, 500)).toEqual([]);
      },
    });
    parser.feed(Buffer.from(stream, 'latin1').toString());
  }
  expect(events).toBeGreaterThan(300);
  expect([...new Set(unreadable)]).toEqual(['{"object":"event","id":2,']);
});
