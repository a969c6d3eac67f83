/** Section 5: who may speak to the Device API. */
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { NoAnswer } from '../../harness/client/errors.ts';
import { discoveryFile } from '../../harness/contract/discovery.ts';
import { requirement } from '../../harness/runner/define.ts';
import { LoopbackConnection } from '../../harness/targets/transports/loopback.ts';
import { ask, brief, CURRENT, isServed, objectOf } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { problemsOf } from './support/judge.ts';
import { withStreams } from './support/streams.ts';

const noToken = requirement({
  id: 'device.socket.no-token',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'Requests over the unix socket succeed without any credential.',
});

const discovery = requirement({
  id: 'device.loopback.discovery',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'The discovery file is JSON with a port from 1 to 65535 and a token that is not empty; the Device API answers there.',
});

const bearer = requirement({
  id: 'device.loopback.bearer-required',
  level: 'MUST',
  section: '5',
  since: '2026-11-21',
  text: 'On loopback TCP nothing is served without the token, with a wrong one, or with a part of it.',
});

const scheme = requirement({
  id: 'device.loopback.scheme-case',
  level: 'SHOULD',
  section: '5',
  since: '2026-11-21',
  text: 'The authentication scheme is compared without regard to case, as HTTP has it.',
});

const HALF = 0.5;

/** Headers without the token, always tried. */
const without = (token: string): (string | undefined)[] =>
  [
    undefined,
    'Bearer',
    'Bearer null',
    'Bearer *',
    'Basic Og==',
    `Bearer ${token.slice(0, Math.ceil(token.length * HALF))}`,
    `Bearer ${token.slice(0, -2)}`,
    `Bearer ${token.slice(0, 1)}`,
    `Bearer ${token}x`,
  ].filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);

/** As long as the token, and another one in every place, in the first alone, or in the last but a few. */
function asLong(token: string): string[] {
  const others = (from: number, to: number): string =>
    [...token].map((sign, at) => (at >= from && at < to ? (/z/i.test(sign) ? '7' : 'Z') : sign)).join('');
  const late = Math.max(0, token.replace(/=+$/, '').length - 4);
  return [others(0, token.length), others(0, 1), others(late, late + 1)].filter((other) => other !== token);
}

/** The token in the other case; undefined when it has none. */
function caseSwapped(token: string): string | undefined {
  const swapped = [...token].map((sign) => (sign === sign.toLowerCase() ? sign.toUpperCase() : sign.toLowerCase()));
  return swapped.join('') === token ? undefined : swapped.join('');
}

/** Where letters of one case alone are used, as in hexadecimal, the case may say nothing. */
const caseTells = (token: string): boolean => /[a-z]/.test(token) && /[A-Z]/.test(token);

/** The token, but not as a bearer token: whoever sends it may have it, so this is a matter of manners. */
const otherSchemes = (token: string): string[] => [token, `Basic ${token}`, `Token ${token}`];

/** Any `Authorization` without the token: a part of it, more than it, another one. */
const wrong = (token: string): fc.Arbitrary<string | undefined> => {
  // Padding may mean nothing to whoever decodes the token.
  const bare = token.replace(/=+$/, '');
  return fc
    .oneof(
      fc.constantFrom(...without(token)),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) * HALF) }).map((at) => {
        const other = bare[at] === 'Z' ? '7' : 'Z';
        return `Bearer ${bare.slice(0, at)}${other}${token.slice(at + 1)}`;
      }),
    )
    .filter((header) => header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
};

/** Status of an answer to whoever sends this header; undefined when there was none, which is a refusal too. */
async function statusFor(
  context: Device,
  path: string,
  authorization: string | undefined,
): Promise<number | undefined> {
  const intruder = context.http.with({ headers: authorization === undefined ? {} : { authorization } });
  try {
    const opened = await intruder.open({ path, timeoutMs: context.patienceMs });
    opened.abort();
    return opened.status;
  } catch (error) {
    if (error instanceof NoAnswer) return undefined;
    throw error;
  }
}

export default [
  check(noToken, { needs: ['unix'], sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const bare = context.http.with({ headers: {} });
      await streams.open({}, bare);
      const response = await ask(context, { path: CURRENT }, 'an answer without credentials', bare);
      context.must(isServed(response), {
        expected: '200 without credentials (404 or so while the device has no deployment)',
        actual: brief(response),
      });
    }),
  ),

  check(
    discovery,
    { needs: ['loopback'], sharing: 'shared', profile: 'core', runsWhenUnreachable: true },
    async (context: Device) => {
      if (!(context.transport instanceof LoopbackConnection))
        return context.notApplicable('the target is not reached by a discovery file');
      const file = context.transport.discovery;
      const text = await readFile(file, 'utf8').catch((error: Error) => context.blocked(`${file}: ${error.message}`));
      let content: unknown;
      try {
        content = JSON.parse(text);
      } catch {
        context.must(false, { expected: 'a discovery file that is JSON', actual: `${text.length} bytes that are not` });
      }
      const problems = problemsOf(discoveryFile, content);
      context.must(problems === undefined, {
        expected: 'a discovery file with port (an integer from 1 to 65535) and token (a string that is not empty)',
        actual: problems,
      });
      const response = await ask(context, { path: CURRENT }, 'an answer at the port of the discovery file');
      context.must(isServed(response), {
        expected: '200 with the token of the discovery file (404 or so while the device has no deployment)',
        actual: brief(response),
      });
    },
  ),

  check(bearer, { needs: ['loopback'], sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      if (!(context.transport instanceof LoopbackConnection)) return context.notApplicable('the target has no token');
      // Serving nobody is no protection: the right token opens the door.
      await (await streams.open()).close();
      const { token } = context.transport;
      for (const authorization of otherSchemes(token)) {
        const status = await statusFor(context, '/events', authorization);
        context.should(status === undefined || status >= 300, {
          expected: 'nothing served to whoever sends the token, but not as a bearer token',
          actual: status,
        });
      }
      const swapped = caseSwapped(token);
      const others = [...asLong(token), ...(swapped !== undefined && caseTells(token) ? [swapped] : [])];
      context.http.recorder.redactor.add(swapped);
      if (swapped !== undefined && !caseTells(token)) {
        const status = await statusFor(context, '/events', `Bearer ${swapped}`);
        context.should(status === undefined || status >= 300, {
          expected: 'nothing served to whoever sends the token in the other case',
          actual: status,
        });
      }
      context.http.recorder.redactor.add(encodeURIComponent(token));
      for (const name of ['access_token', 'token']) {
        // Nobody has to send one there, and addresses are written into logs.
        const status = await statusFor(context, `/events?${name}=${encodeURIComponent(token)}`, undefined);
        context.should(status === undefined || status >= 300, {
          expected: `nothing served to whoever sends the token as ?${name}=, and not in a header`,
          actual: status,
        });
      }
      const headers = [...without(token), ...others.map((other) => `Bearer ${other}`)];
      const examples = headers.flatMap((header): [unknown][] => [[[header, CURRENT]], [[header, '/events']]]);
      await context.property(
        fc.tuple(wrong(token), fc.constantFrom(CURRENT, '/events')),
        async ([authorization, path]) => {
          const status = await statusFor(context, path, authorization);
          if (status === undefined) return context.note('a request without the token is dropped without an answer');
          const shown = authorization === undefined ? 'no Authorization' : 'a wrong Authorization';
          context.must(status >= 300, {
            expected: `nothing served for GET ${path} with ${shown} (401 is usual)`,
            actual: status,
          });
          context.should(status === 401, { expected: `401 for GET ${path} with ${shown}`, actual: status });
          if (path !== CURRENT) return;
          const intruder = context.http.with({ headers: authorization === undefined ? {} : { authorization } });
          const refusal = await ask(context, { path }, 'a refusal', intruder);
          context.must(objectOf(refusal)?.['object'] !== 'deployment', {
            expected: 'no deployment in the body of a refusal',
            actual: `${refusal.status} with a deployment`,
          });
        },
        {
          runs: examples.length + 12,
          examples,
          // A counterexample may hold most of a secret.
          describe: ([authorization, path]: [string | undefined, string]) =>
            `GET ${path} with ${authorization === undefined ? 'no Authorization' : `an Authorization of ${authorization.length} characters that is not the right one`}`,
        },
      );
    }),
  ),

  check(scheme, { needs: ['loopback'], sharing: 'shared' }, async (context: Device) => {
    if (!(context.transport instanceof LoopbackConnection)) return context.notApplicable('the target has no token');
    const { token } = context.transport;
    await withStreams(context, async (streams) => {
      for (const name of ['Bearer', 'bearer', 'BEARER']) {
        const stream = await streams.try({}, context.http.with({ headers: { authorization: `${name} ${token}` } }));
        context.must(stream.status === 200, {
          expected: `200 for GET /events with the scheme written "${name}"`,
          actual: stream.status,
        });
      }
    });
  }),
];
