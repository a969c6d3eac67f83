/** Requests that no careful client sends. A server answers them or hangs up, and goes on serving. */
import fc from 'fast-check';
import { exchange, type RawExchange, requestText } from '../../harness/client/raw.ts';
import { requirement } from '../../harness/runner/define.ts';
import { CURRENT, isServed } from './support/ask.ts';
import { persist } from './support/busy.ts';
import { check, type Device } from './support/context.ts';
import { streamsInTheWay, withStreams } from './support/streams.ts';

const robust = requirement({
  id: 'device.robust.requests',
  level: 'SHOULD',
  section: '4.1',
  since: '2026-11-21',
  text: 'Bad methods, long paths, bad headers, pipelined and slow requests get a 4xx and never a hang or a 5xx, and the next request works.',
});

interface Trial {
  name: string;
  parts: (string | Buffer)[];
  /** Whole answers that are due; for garbage, hanging up is an answer too. */
  answers?: number;
  methods?: string[];
  mayHangUp?: boolean;
  /** Whether this answer is acceptable. Default: any 4xx, or 501 for a method that is unknown. */
  accepts?(status: number): boolean;
}

const refused = (status: number): boolean => (status >= 400 && status < 500) || status === 501 || status === 505;
const noFault = (status: number): boolean => status < 500 || status === 501 || status === 505;

function trials(context: Device): Trial[] {
  const base = context.http.basePath;
  const current = base + CURRENT;
  const text = (request: Parameters<typeof requestText>[1]): string => requestText(context.http, request);
  const whole = text({ target: current });
  const long = 'x'.repeat(64 * 1024);
  return [
    ...['DELETE', 'PUT', 'PATCH', 'POST', 'BREW', 'get'].map((method) => ({
      name: `${method} ${CURRENT}`,
      parts: [text({ method, target: current, headers: ['Content-Length: 0'] })],
      methods: [method],
    })),
    {
      name: 'POST /events',
      parts: [text({ method: 'POST', target: `${base}/events`, headers: ['Content-Length: 0'] })],
    },
    {
      name: `HEAD ${CURRENT}`,
      parts: [text({ method: 'HEAD', target: current })],
      methods: ['HEAD'],
      accepts: noFault,
    },
    {
      name: 'HEAD /events',
      parts: [text({ method: 'HEAD', target: `${base}/events` })],
      methods: ['HEAD'],
      accepts: noFault,
    },
    { name: `OPTIONS ${CURRENT}`, parts: [text({ method: 'OPTIONS', target: current })], accepts: noFault },
    { name: 'a path that does not exist', parts: [text({ target: `${base}/nonsense` })] },
    { name: 'a path of 64 KiB', parts: [text({ target: `${base}/${long}` })], mayHangUp: true },
    { name: 'a query of 64 KiB', parts: [text({ target: `${current}?q=${long}` })], mayHangUp: true, accepts: noFault },
    { name: 'a path with bad escapes', parts: [text({ target: `${base}/deployments/%zz%` })] },
    {
      name: 'a path that climbs',
      parts: [text({ target: `${base}/../../etc/passwd` })],
      // Some servers redirect to the path as they would have written it.
      accepts: (status) => status >= 300 && noFault(status),
    },
    {
      name: 'a header of 1 MiB',
      parts: [text({ target: current, headers: [`X-Long: ${long.repeat(16)}`] })],
      mayHangUp: true,
      accepts: noFault,
    },
    {
      name: 'a thousand headers',
      parts: [text({ target: current, headers: Array.from({ length: 1000 }, (_, index) => `X-${index}: 1`) })],
      mayHangUp: true,
      accepts: noFault,
    },
    { name: 'a header without colon', parts: [text({ target: current, headers: ['nonsense'] })], mayHangUp: true },
    { name: 'a header name with a space', parts: [text({ target: current, headers: ['X Y: 1'] })], mayHangUp: true },
    {
      name: 'a header value with a NUL',
      parts: [text({ target: current, headers: ['X-Y: a\0b'] })],
      mayHangUp: true,
      accepts: noFault,
    },
    {
      name: 'two lengths',
      parts: [text({ target: current, headers: ['Content-Length: 1', 'Content-Length: 2'], body: 'ab' })],
      mayHangUp: true,
    },
    { name: 'HTTP/9.9', parts: [text({ target: current, version: 'HTTP/9.9' })], mayHangUp: true },
    {
      name: 'bytes that are no HTTP',
      parts: [Buffer.from('160301020001000001fc0303', 'hex'), '\r\n\r\n'],
      mayHangUp: true,
    },
    {
      name: 'a body where none belongs',
      parts: [text({ target: current, headers: ['Content-Type: application/json', 'Content-Length: 2'], body: '{}' })],
      accepts: noFault,
    },
    { name: 'three requests in one piece', parts: [whole.repeat(3)], answers: 3, accepts: noFault },
    { name: 'a request byte by byte', parts: [...whole], accepts: noFault },
    {
      name: 'a request in two pieces',
      parts: [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)],
      accepts: noFault,
    },
  ];
}

function judge(context: Device, trial: Trial, result: RawExchange): void {
  const { name, answers = 1, mayHangUp = false, accepts = refused } = trial;
  const acceptable = accepts === refused ? 'a 4xx' : 'an answer below 500';
  const expected = `${answers === 1 ? acceptable : `${answers} answers below 500`}${mayHangUp ? ', or a closed connection,' : ''} for ${name}`;
  const statuses = result.responses.map(({ status }) => status);
  const wrong = statuses.find((status) => !accepts(status));
  context.must(wrong === undefined, { expected, actual: wrong });
  // A server may close after any answer, when it says so.
  const announced = result.end === 'closed' && /\bclose\b/i.test(result.responses.at(-1)?.headers['connection'] ?? '');
  context.must(result.end === 'answered' || announced || (mayHangUp && result.end === 'closed'), {
    expected,
    actual:
      result.end === 'timeout'
        ? `no answer in time (${statuses.length} of ${answers}; ${result.rest.length} bytes)`
        : `the connection was closed after ${statuses.length} of ${answers} answers`,
  });
}

async function stillServes(context: Device, after: string): Promise<void> {
  const next = await persist(
    context,
    () => context.http.get(CURRENT, { timeoutMs: context.patienceMs }),
    () => false,
  ).catch((error: unknown) => String(error));
  context.must(typeof next !== 'string' && isServed(next), {
    expected: `the next request works after ${after}`,
    actual: typeof next === 'string' ? next : next.status,
  });
}

export default [
  check(robust, { sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      // What is never served can't be disturbed.
      await (await streams.open()).close();
      const all = trials(context);
      await context.property(
        fc.constantFrom(...all),
        async (trial) => {
          const { result } = await persist(
            context,
            async () => {
              const result = await exchange(context.http, trial.parts, {
                within: context.patienceMs,
                answers: trial.answers ?? 1,
                methods: trial.methods ?? [],
              });
              const last = result.responses.at(-1);
              return { result, status: last?.status ?? 0, headers: last?.headers ?? {} };
            },
            streamsInTheWay,
          );
          judge(context, trial, result);
          await stillServes(context, trial.name);
        },
        { runs: all.length, examples: all.map((trial): [unknown] => [trial]), describe: (trial: Trial) => trial.name },
      );
    }),
  ),

  check(robust, { aspect: 'unfinished', sharing: 'shared' }, async (context: Device) => {
    const whole = requestText(context.http, { target: context.http.basePath + CURRENT });
    const sockets = await Promise.all(
      Array.from({ length: 16 }, async (_, index) => {
        const socket = await context.http.connect();
        socket.on('error', () => {});
        socket.write(whole.slice(0, 1 + ((index * 7) % (whole.length - 3))));
        return socket;
      }),
    );
    try {
      // On a connection of its own: one that was open before would show nothing.
      const asked = 'sixteen requests that were begun and not ended';
      const next = await exchange(context.http, [whole], { within: context.patienceMs, answers: 1 });
      judge(
        context,
        { name: `a whole request on another connection, beside ${asked}`, parts: [], accepts: noFault },
        next,
      );
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    await stillServes(context, 'sixteen requests that were broken off');
  }),

  check(robust, { aspect: 'come-and-go', sharing: 'shared' }, (context: Device) =>
    withStreams(context, async (streams) => {
      for (let round = 0; round < 10; round += 1) {
        const some = [await streams.open()];
        const more = await Promise.all(Array.from({ length: 9 }, () => streams.another({})));
        some.push(...more.filter((one) => one !== undefined));
        await Promise.all(some.map((subscription) => subscription.close()));
      }
      await streams.open();
      await stillServes(context, 'a hundred subscribers that came and went');
    }),
  ),
];
