/** Section 5: who may speak to the Device API. */
import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { requirement } from '../../harness/check/define.ts';
import { NoAnswer } from '../../harness/client/errors.ts';
import { discoveryFile } from '../../harness/contract/discovery.ts';
import { ask, brief, CURRENT, mediaType, objectOf } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { problemsOf } from './support/judge.ts';
import { withStreams } from './support/streams.ts';

const noToken = requirement(
  'device.socket.no-token',
  'MUST',
  '5',
  'Requests over the unix socket succeed without any credential.',
);

const discovery = requirement(
  'device.loopback.discovery',
  'MUST',
  '5',
  'The discovery file is JSON with a port from 1 to 65535 and a token that is not empty; the Device API answers there.',
);

const bearer = requirement(
  'device.loopback.bearer-required',
  'MUST',
  '5',
  'On loopback TCP nothing is served without the token, with a wrong one, or with a part of it.',
);

const scheme = requirement(
  'device.loopback.scheme-case',
  'SHOULD',
  '5',
  'The authentication scheme is compared without regard to case, as HTTP has it.',
);

/** Every `Authorization` that is none: of another scheme, without scheme, or with a token that differs. */
const wrong = (token: string): fc.Arbitrary<string | undefined> => {
  // Padding may mean nothing to whoever decodes the token.
  const bare = token.replace(/=+$/, '');
  return fc
    .oneof(
      fc.constant(undefined),
      fc.constantFrom(
        'Bearer',
        'Bearer ',
        token,
        `Basic ${token}`,
        'Basic Og==',
        `Token ${token}`,
        'Bearer null',
        'Bearer *',
      ),
      fc.nat({ max: Math.max(0, bare.length - 2) }).map((length) => `Bearer ${bare.slice(0, length)}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,40}$/).map((text) => `Bearer ${text}`),
      fc.stringMatching(/^[A-Za-z0-9]{1,8}$/).map((more) => `Bearer ${token}${more}`),
      fc.nat({ max: Math.floor((bare.length - 1) / 2) }).map((at) => {
        const other = bare[at] === 'Z' ? '7' : 'Z';
        return `Bearer ${bare.slice(0, at)}${other}${token.slice(at + 1)}`;
      }),
    )
    .filter((header) => header !== `Bearer ${token}` && header?.toLowerCase() !== `bearer ${token.toLowerCase()}`);
};

export default [
  check(noToken, { needs: ['unix'], sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      const bare = context.http.with({ headers: {} });
      await streams.open({}, bare);
      const response = await ask(context, { path: CURRENT }, 'an answer without credentials', bare);
      context.must(response.status === 200 || response.status === 404, {
        expected: '200 without credentials (404 while the device has no deployment)',
        actual: brief(response),
      });
    }),
  ),

  check(discovery, { needs: ['loopback'], sharing: 'shared', profile: 'core' }, async (context: Device) => {
    if (context.transport.kind !== 'loopback')
      return context.notApplicable('the target is not reached by a discovery file');
    const text = await readFile(context.transport.discovery, 'utf8');
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
    context.must(response.status === 200 || response.status === 404, {
      expected: '200 with the token of the discovery file (404 while the device has no deployment)',
      actual: brief(response),
    });
  }),

  check(bearer, { needs: ['loopback'], sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      if (context.transport.kind !== 'loopback') return context.notApplicable('the target has no token');
      // Serving nobody is no protection: the right token opens the door.
      await (await streams.open()).close();
      await context.property(
        fc.tuple(wrong(context.transport.token), fc.constantFrom(CURRENT, '/events')),
        async ([authorization, path]) => {
          const intruder = context.http.with({ headers: authorization === undefined ? {} : { authorization } });
          const opened = await intruder.open({ path, timeoutMs: context.patienceMs }).catch((error: unknown) => {
            if (error instanceof NoAnswer) return undefined;
            throw error;
          });
          if (opened === undefined) return context.note('a request without the token is dropped without an answer');
          const { status, headers } = opened;
          opened.abort();
          const shown = authorization === undefined ? 'no Authorization' : 'a wrong Authorization';
          context.must(status >= 300, {
            expected: `nothing served for GET ${path} with ${shown} (401 is usual)`,
            actual: `${status} ${mediaType(headers)}`,
          });
          context.should(status === 401, { expected: `401 for GET ${path} with ${shown}`, actual: status });
          if (path === CURRENT) {
            const refusal = await ask(context, { path }, 'a refusal', intruder);
            context.must(objectOf(refusal)?.['object'] !== 'deployment', {
              expected: 'no deployment in the body of a refusal',
              actual: `${refusal.status} with a deployment`,
            });
          }
        },
        {
          runs: 25,
          examples: [[[undefined, CURRENT]], [[undefined, '/events']]],
          // A counterexample may hold most of a secret.
          describe: ([authorization, path]: [string | undefined, string]) =>
            `GET ${path} with ${authorization === undefined ? 'no Authorization' : `an Authorization of ${authorization.length} characters that is not the right one`}`,
        },
      );
    }),
  ),

  check(scheme, { needs: ['loopback'], sharing: 'shared' }, async (context: Device) => {
    if (context.transport.kind !== 'loopback') return context.notApplicable('the target has no token');
    const plain = await ask(context, { path: CURRENT });
    for (const name of ['bearer', 'BEARER']) {
      const http = context.http.with({ headers: { authorization: `${name} ${context.transport.token}` } });
      const response = await ask(context, { path: CURRENT }, 'an answer', http);
      context.must(response.status === plain.status, {
        expected: `${plain.status}, as with "Bearer"`,
        actual: `${response.status} with "${name}"`,
      });
    }
  }),
];
