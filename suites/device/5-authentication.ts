/** Section 5: the Device API needs no token on a unix socket, but needs a token on loopback TCP. */
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { NoAnswer } from '../../harness/client/errors.ts';
import type { HttpClient } from '../../harness/client/http.ts';
import { discoveryFile } from '../../harness/contract/device-api.ts';
import { Violation } from '../../harness/runner/violation.ts';
import { LoopbackConnection } from '../../harness/targets/transports/index.ts';
import { type Device, inTime, PREFIX, STREAM } from './support/check.ts';
import { problemsOf } from './support/events.ts';
import {
  anyWrongHeader,
  CURRENT,
  changedTokens,
  describeResponse,
  headersWithoutToken,
  isDeployment,
  isEventStream,
  isServed,
  objectOf,
  otherCase,
  request,
  usesBothCases,
} from './support/requests.ts';
import { section } from './support/section.ts';
import { describeAnswer, withStreams } from './support/streams.ts';

export const { requirement, check, checks } = section({ section: '5', since: '2026-11-21' });

const noToken = requirement({
  id: 'device.socket.no-token',
  level: 'MUST',
  clause: 'No token is used.',
  text: 'Requests over the unix socket succeed without any credential.',
});
check(noToken, { needs: ['unix'], profile: 'core', premises: PREFIX, essential: true }, (t: Device) =>
  expectDeviceApi(t, t.http.with({ headers: {} }), 'without credentials'),
);

/** Expects a deployment or an event stream; a server that answers every path alike offers neither. */
function expectDeviceApi(t: Device, http: HttpClient, how: string): Promise<void> {
  return withStreams(t, async (streams) => {
    const response = await request(t, { path: CURRENT }, `an answer ${how}`, http);
    t.must(isServed(response), {
      expected: `200 ${how} (404 or so while the device has no deployment)`,
      actual: describeResponse(response),
    });
    const stream = await streams.try({}, http).catch((error: unknown) => {
      if (!(error instanceof Violation)) throw error;
    });
    const opens = stream?.status === 200 && isEventStream(stream);
    const refused = stream?.status === 401 || stream?.status === 403;
    t.must(!refused && (opens || isDeployment(response)), {
      expected: `a deployment ${how}, or an event stream while there is none; no refusal`,
      actual:
        `${describeResponse(response)} for ${CURRENT}, and ` +
        `${stream === undefined ? 'no answer' : await describeAnswer(t, stream)} for /events`,
    });
  });
}

const discovery = requirement({
  id: 'device.loopback.discovery',
  level: 'MUST',
  clause:
    'The client reads a JSON discovery file at `{discovery_file}` containing `port` and `token`, ' +
    'connects to `127.0.0.1` on that port',
  text:
    'The discovery file is JSON with a port from 1 to 65535 and a token that is not empty; ' +
    'the Device API answers there.',
});
check(
  discovery,
  { needs: ['loopback'], profile: 'core', premises: PREFIX, essential: true, runsWhenUnreachable: true },
  async (t: Device) => {
    if (!(t.transport instanceof LoopbackConnection))
      return t.notApplicable('the target is not reached by a discovery file');
    const file = t.transport.discovery;
    const text = await readFile(file, 'utf8').catch((error: Error) => t.blocked(`${file}: ${error.message}`));
    let content: unknown;
    try {
      content = JSON.parse(text);
    } catch {
      t.must(false, { expected: 'a discovery file that is JSON', actual: `${text.length} bytes that are not` });
    }
    const problems = problemsOf(discoveryFile, content);
    t.must(problems === undefined, {
      expected: 'a discovery file with port (an integer from 1 to 65535) and token (a string that is not empty)',
      actual: problems,
    });
    await expectDeviceApi(t, t.http, 'at the port and with the token of the discovery file');
  },
);

const bearer = requirement({
  id: 'device.loopback.bearer-required',
  level: 'MUST',
  clause: 'sends `Authorization: Bearer <ACCESS_TOKEN>`. Required.',
  text: 'On loopback TCP nothing is served without the token, with a wrong one, or with a part of it.',
});
check(bearer, { needs: ['loopback'], profile: 'core', premises: STREAM }, async (t: Device, streams) => {
  if (!(t.transport instanceof LoopbackConnection)) return t.notApplicable('the target has no token');
  const { token } = t.transport;
  // Opens a stream first: a device that serves no request must not pass.
  await (await streams.open()).close();
  await shouldRefuseTokenElsewhere(t, token);
  await expectWrongTokensRefused(t, token);
});

/** Only warns, because each request contains the right token, merely in a wrong place. */
async function shouldRefuseTokenElsewhere(t: Device, token: string): Promise<void> {
  const shouldRefuse = async (path: string, authorization: string | undefined, what: string): Promise<void> => {
    const status = await statusFor(t, path, authorization);
    t.should(status === undefined || status >= 300, { expected: `nothing served for ${what}`, actual: status });
  };
  for (const authorization of [token, `Basic ${token}`, `Token ${token}`, `Nobearer ${token}`])
    await shouldRefuse('/events', authorization, 'the token that is not sent as a bearer token');
  const swapped = otherCase(token);
  t.http.recorder.redactor.add(swapped);
  if (swapped !== undefined && !usesBothCases(token))
    await shouldRefuse('/events', `Bearer ${swapped}`, 'the token in the other case');
  const escaped = encodeURIComponent(token);
  t.http.recorder.redactor.add(escaped);
  // Servers log URLs, so a token in the query must not be accepted.
  for (const name of ['access_token', 'token'])
    await shouldRefuse(`/events?${name}=${escaped}`, undefined, `the token as ?${name}=, and not in a header`);
}

async function expectWrongTokensRefused(t: Device, token: string): Promise<void> {
  const swapped = usesBothCases(token) ? otherCase(token) : undefined;
  const others = [...changedTokens(token), ...(swapped === undefined ? [] : [swapped])];
  const headers = [...headersWithoutToken(token), ...others.map((other) => `Bearer ${other}`)];
  const examples = headers.flatMap((header): [unknown][] => [[[header, CURRENT]], [[header, '/events']]]);
  await t.property(
    fc.tuple(anyWrongHeader(token), fc.constantFrom(CURRENT, '/events')),
    ([authorization, path]) => expectRefusal(t, path, authorization),
    {
      runs: examples.length + 12,
      examples,
      // Describes only the length of the header, because its text may contain most of the token.
      describe: ([authorization, path]: [string | undefined, string]) =>
        authorization === undefined
          ? `GET ${path} with no Authorization`
          : `GET ${path} with an Authorization of ${authorization.length} characters that is not the right one`,
    },
  );
}

async function expectRefusal(t: Device, path: string, authorization: string | undefined): Promise<void> {
  const status = await statusFor(t, path, authorization);
  if (status === undefined) return t.observe('a request without the token', 'dropped without an answer');
  const shown = authorization === undefined ? 'no Authorization' : 'a wrong Authorization';
  t.must(status >= 300, {
    expected: `nothing served for GET ${path} with ${shown} (401 is usual)`,
    actual: status,
  });
  t.should(status === 401, { expected: `401 for GET ${path} with ${shown}`, actual: status });
  // Repeats the wrong request on a connection that a request with the right token has used.
  const kept = { keepsAlive: true };
  await request(t, { path: CURRENT }, 'an answer before the connection is used again', t.http.with(kept));
  const later = await statusOn(t, path, clientWith(t, authorization).with(kept));
  t.must(later === undefined || later >= 300, {
    expected: `nothing served for GET ${path} with ${shown}, on a connection that was used with the token`,
    actual: later,
  });
  if (path !== CURRENT) return;
  const refusal = await request(t, { path }, 'a refusal', clientWith(t, authorization));
  t.must(objectOf(refusal)?.['object'] !== 'deployment', {
    expected: 'no deployment in the body of a refusal',
    actual: `${refusal.status} with a deployment`,
  });
}

const statusFor = (t: Device, path: string, authorization: string | undefined): Promise<number | undefined> =>
  statusOn(t, path, clientWith(t, authorization));

async function statusOn(t: Device, path: string, http: HttpClient): Promise<number | undefined> {
  try {
    const opened = await inTime(t, 'stream', (timeoutMs) => http.open({ path, timeoutMs }));
    opened.abort();
    return opened.status;
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}

const clientWith = (t: Device, authorization: string | undefined) =>
  t.http.with({ headers: authorization === undefined ? {} : { authorization } });

const scheme = requirement({
  id: 'device.loopback.scheme-case',
  level: 'SHOULD',
  clause: 'the bearer token (HTTP bearer scheme)',
  text: 'The case of the authentication scheme does not matter, as in HTTP (RFC 9110, section 11.1).',
});
check(scheme, { needs: ['loopback'], premises: STREAM }, async (t: Device, streams) => {
  if (!(t.transport instanceof LoopbackConnection)) return t.notApplicable('the target has no token');
  const { token } = t.transport;
  for (const name of ['Bearer', 'bearer', 'BEARER']) {
    const stream = await streams.try({}, clientWith(t, `${name} ${token}`));
    t.must(stream.status === 200, {
      expected: `200 for GET /events with the scheme written "${name}"`,
      actual: stream.status,
    });
  }
});
