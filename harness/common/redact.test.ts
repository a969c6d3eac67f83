import { createServer, type RequestListener } from 'node:http';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { anyCharacter } from '../../simulators/common/testing/scratch.ts';
import type { HttpClient } from '../client/http.ts';
import { exchange } from '../client/raw.ts';
import { Recorder } from '../client/recorder.ts';
import { openEvents } from '../client/sse.ts';
import { clientOf } from '../client/testing/served.ts';
import { shortText } from '../runner/violation.ts';
import { telling } from './excerpt.ts';
import { Redactor } from './redact.ts';

const PLAIN = 'k7Q2-xW9z_Bf4vN8';
const AWKWARD = `s3cr3t/k+y="'<&>%\\|~é\nJ9w`;

function knowing(...secrets: string[]): Redactor {
  const redactor = new Redactor();
  for (const secret of secrets) redactor.add(secret);
  return redactor;
}

function told(text: string, secret: string): string {
  for (let length = secret.length; length >= 3; length -= 1) {
    for (let at = 0; at + length <= secret.length; at += 1) {
      const piece = secret.slice(at, at + length);
      if (text.includes(piece)) return piece;
    }
  }
  return '';
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const json = (text: string): string => JSON.stringify(text);
const forms: [string, (secret: string) => string][] = [
  ['as it is', (secret) => secret],
  ['in JSON', json],
  ['in JSON in JSON', (secret) => json(json(secret)).slice(3, -3)],
  ['in JSON that escapes slashes', (secret) => json(secret).replaceAll('/', '\\/')],
  [
    'in JSON that escapes markup',
    (secret) => json(secret).replaceAll(/[<>&]/g, (mark) => `\\u00${mark.charCodeAt(0).toString(16)}`),
  ],
  ['in ASCII JSON', (secret) => json(secret).replaceAll('é', '\\u00e9')],
  ['in a URL', encodeURIComponent],
  ['in a URL, lower case', (secret) => encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase())],
  ['in a URL in a URL', (secret) => encodeURIComponent(encodeURIComponent(secret))],
  ['in a form', (secret) => new URLSearchParams({ '': secret }).toString()],
  ['in base64', base64],
  ['in base64url', (secret) => Buffer.from(secret).toString('base64url')],
  ['in hexadecimal', (secret) => Buffer.from(secret).toString('hex')],
  ['as Latin-1', (secret) => Buffer.from(secret).toString('latin1')],
  ['in HTML', (secret) => secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
  ['for a shell', (secret) => secret.replaceAll("'", `'\\''`)],
];
it.each(forms)('a secret is masked %s', (_, encode) => {
  for (const secret of [PLAIN, AWKWARD]) {
    const encoded = encode(secret);
    expect(told(knowing(secret).text(`before ${encoded} after`), encoded)).toBe(told('before  after ***', encoded));
  }
});

it.each([0, 1, 2, 3, 4])('base64 after %i other bytes is masked, except what neighbours share', (before) => {
  for (const secret of [PLAIN, AWKWARD]) {
    const bytes = Buffer.concat([Buffer.alloc(before, 'u'), Buffer.from(secret), Buffer.from(':and more')]);
    const first = Math.ceil((before * 8) / 6);
    const last = Math.floor(((before + Buffer.byteLength(secret)) * 8) / 6);
    const own = bytes.toString('base64').slice(first, last);
    expect(told(knowing(secret).text(bytes.toString('base64')), own)).toBe('');
  }
});

it('cuts leave no readable part of a secret, at any offset and repetition', () => {
  for (const secret of [PLAIN, AWKWARD]) {
    const redactor = knowing(secret);
    for (let at = 30 - secret.length - 2; at <= 32; at += 1) {
      const text = `${'.'.repeat(at)}${secret}${'.'.repeat(100)}`;
      expect(told(redactor.excerpt(text, 30), secret)).toBe('');
      expect(told(redactor.excerpt(text.slice(0, 30), 30, { ended: false }), secret).length).toBeLessThan(4);
    }
    for (let length = 1; length < 300; length += 1) {
      const text = secret.repeat(20).slice(0, length);
      expect(told(redactor.excerpt(text, 40), secret).length).toBeLessThan(secret.length / 2);
      expect(told(redactor.excerpt(text, 40, { ended: false }), secret).length).toBeLessThan(4);
    }
  }
});

it('cuts from elsewhere are masked before their mark, after it, and without one', () => {
  const redactor = knowing(PLAIN);
  for (let length = 1; length < PLAIN.length; length += 1) {
    expect(told(redactor.text(`a ${PLAIN.slice(0, length)}… b`), PLAIN).length).toBeLessThan(4);
    expect(told(redactor.text(`…${PLAIN.slice(-length)} b`), PLAIN).length).toBeLessThan(4);
    expect(told(redactor.text(`a "${PLAIN.slice(0, length)}" b`), PLAIN).length).toBeLessThan(8);
  }
});

it('cuts of any text leave at most a few characters of a secret', () => {
  const redactor = knowing(AWKWARD, PLAIN);
  const piece = fc.oneof(fc.constant(AWKWARD), fc.constant(PLAIN), fc.string({ maxLength: 12, unit: anyCharacter }));
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), fc.nat({ max: 200 }), (pieces, limit) => {
      const said = redactor.excerpt(pieces.join(''), limit);
      const chance = pieces.filter((text) => text !== AWKWARD && text !== PLAIN).join(' ');
      for (const secret of [AWKWARD, PLAIN]) {
        expect(told(said, secret).length).toBeLessThanOrEqual(Math.max(4, told(chance, secret).length));
      }
    }),
    { numRuns: 100 },
  );
});

it('cuts in the values of a finding follow the masking', () => {
  const redactor = knowing(AWKWARD);
  for (let at = 560; at <= 601; at += 1) {
    const value = { text: `${'x'.repeat(at)}${AWKWARD}` };
    expect(told(shortText(value, 600, redactor), AWKWARD)).toBe('');
    expect(told(shortText(new Error(value.text), 600, redactor), AWKWARD)).toBe('');
  }
});

it('leaves other text alone', () => {
  const redactor = knowing('deployment-api-key', PLAIN, 'abc');
  redactor.add(PLAIN.slice(0, 4));
  const text = 'device.deployment.shape passed; abc; k7Q2; a deployment… and on';
  expect(redactor.text(text)).toBe(text.replace('deployment…', '***…'));
  expect(redactor.excerpt('short', 5)).toBe('short');
  expect(redactor.excerpt('longer', 5)).toBe('longe… (6 characters)');
});

it('masks every line of a private key', () => {
  const lines = [
    '-----BEGIN PRIVATE KEY-----',
    'MC4CAQAwBQYDK2VwBCIEIJ1s',
    'hxX9vQ0vJYd8mJ3QW2Zk1aB7',
    '-----END PRIVATE KEY-----',
  ];
  const said = knowing(lines.join('\n')).text(`last words: ${lines[2]}\n${lines[3]}`);
  expect(said).toBe('last words: ***\n-----END PRIVATE KEY-----');
});

describe('a transcript', () => {
  const filler = (length: number): string => 'filler. '.repeat(Math.ceil(length / 8)).slice(0, length);
  const tell: RequestListener = (request, response) => {
    const [, what = '', at = '0', split = '0'] = (request.url ?? '').split('/');
    request.resume();
    const text = `${filler(Number(at))}${AWKWARD}${filler(6000)}`;
    const bytes = Buffer.from(text);
    response.setHeader('x-echo', encodeURIComponent(AWKWARD));
    if (what === 'long') return void response.end(`${filler(Number(at))} needle ${`${AWKWARD} `.repeat(3000)}`);
    if (what === 'stream') {
      response.setHeader('content-type', 'text/event-stream');
      const data = Buffer.from(`: heartbeat\n\ndata: ${filler(Number(at))}${JSON.stringify(AWKWARD)}\n\n`);
      response.write(data.subarray(0, Number(split)));
      setImmediate(() => response.write(data.subarray(Number(split))));
      return;
    }
    response.write(bytes.subarray(0, Number(at) + Number(split)));
    setImmediate(() => response.end(bytes.subarray(Number(at) + Number(split))));
  };
  let http: HttpClient;
  beforeEach(async () => {
    http = await clientOf(createServer(tell), { headers: { 'x-api-key': PLAIN } });
  });
  const said = (recorder: Recorder): string =>
    JSON.stringify([recorder.exchanges, recorder.evidence(telling({ actual: AWKWARD.slice(2) }), 50)]);
  const recording = (): { client: HttpClient; recorder: Recorder } => {
    const redactor = knowing(AWKWARD);
    redactor.add(PLAIN, 'MUSTER_API_KEY');
    const recorder = new Recorder(redactor);
    return { client: http.with({ recorder }), recorder };
  };

  it('hides the secret at cuts of response, request, address and raw request', async () => {
    for (let back = -1; back <= AWKWARD.length + 1; back += 1) {
      const { client, recorder } = recording();
      for (const limit of [4096, 2000, 1500]) {
        const body = `${filler(limit - back)}${AWKWARD}${filler(100)}`;
        await client.post(`/body/${limit - back}/${Math.max(0, back)}?key=${encodeURIComponent(AWKWARD)}`, body);
        const pad = `${filler(limit - back - 60)}${AWKWARD}${filler(2000)}`;
        const sent = `GET /body/9/1 HTTP/1.1\r\nHost: x\r\nX-API-Key: abc\r\nX-Pad: ${pad}\r\n\r\n`;
        await exchange(client, [sent], { within: 10_000 });
      }
      expect(told(said(recorder), AWKWARD.slice(0, 21))).toBe('');
      expect(told(said(recorder), PLAIN)).toBe('');
      expect(said(recorder)).not.toContain('X-API-Key: abc');
    }
  });

  it('hides the secret of a stream in pieces that is dropped at any byte', async () => {
    const start = 19;
    const end = start + Buffer.byteLength(JSON.stringify(AWKWARD));
    for (let at = start; at <= end; at += 1) {
      for (const limit of [0, 4096 - (at - start)]) {
        const { client, recorder } = recording();
        const total = limit + at;
        const stream = await openEvents(client.with({ basePath: `/stream/${limit}/${total}` }), {
          cutAfterBytes: total,
        });
        await stream.rest({ within: 10_000, for: 'the cut' }).catch(() => {});
        await stream.close();
        expect(told(said(recorder), AWKWARD.slice(0, 21)).length).toBeLessThan(4);
      }
    }
  });

  it('hides the secret where the middle of a long stream is left out', async () => {
    for (let back = 0; back <= AWKWARD.length; back += 1) {
      const { client, recorder } = recording();
      const stream = await openEvents(client.with({ basePath: `/long/${64 * 1024 - ' needle '.length - back}` }));
      await stream.rest({ within: 10_000, for: 'the end' });
      const [ended] = recorder.evidence(telling({ actual: 'needle' }), 1);
      expect(ended?.response_body).toMatch(/^….*needle .*….*\*\*\* .*…/s);
      expect(told(JSON.stringify(ended), AWKWARD.slice(0, 21)).length).toBeLessThan(4);
      expect(told(said(recorder), AWKWARD.slice(0, 21)).length).toBeLessThan(4);
    }
  });

  it('hides the secret in an error, and a made-up key in the headers', async () => {
    const { client, recorder } = recording();
    const nobody = await clientOf('http://127.0.0.1:1', { recorder });
    await expect(nobody.get(`/${encodeURIComponent(AWKWARD)}`)).rejects.toThrow(/GET http:\/\/127.0.0.1:1\/\*\*\*: /);
    await client.get('/body/0/0');
    await client.get('/body/0/0', { headers: { 'X-API-Key': 'made-up' } });
    const [, right, wrong] = recorder.exchanges;
    expect(right?.curl).toContain('-H "x-api-key: $MUSTER_API_KEY"');
    expect(wrong?.curl).toContain("-H 'x-api-key: made-up'");
    expect(wrong?.request_headers).toEqual({ 'x-api-key': '***' });
    expect(told(said(recorder), AWKWARD.slice(0, 21))).toBe('');
  });
});

it.each([
  's3cr3t%2Fk+y\\u003d&quot;&#39;&lt;&amp;>%25\\\\|~%C3%A9%0aJ9w',
  's3cr3t\\/k\\u002By=\\"&amp;#39;\\u003c&#x26;&gt;%\\\\\\\\|~\\u00E9\\\\nJ9w',
])('masks a secret with several kinds of escapes at once: %s', (text) => {
  expect(knowing(AWKWARD).text(`<${text}>`)).toBe('<***>');
});

it('masks a secret that contains escape-like characters', () => {
  const secret = 'a%25\\\\b%252f4&amp;c';
  const redactor = knowing(secret);
  expect(redactor.text(`(${secret})`)).toBe('(***)');
  expect(redactor.text(`(${encodeURIComponent(secret)}) (${JSON.stringify(secret)})`)).toBe('(***) ("***")');
});

it('keeps the variable of a secret that is registered twice', () => {
  const redactor = new Redactor();
  redactor.add(PLAIN, 'MUSTER_TOKEN');
  redactor.add(PLAIN);
  redactor.add('');
  redactor.add(undefined);
  expect(redactor.variable(PLAIN)).toBe('MUSTER_TOKEN');
  expect(redactor.text(`${PLAIN} and text`)).toBe('*** and text');
});

it('masks a secret that begins inside a partial match', () => {
  const secret = 'aabaab-Xaa9';
  expect(knowing(secret).text(`aabaaba${secret}!`)).toBe('aabaaba***!');
});

describe('a secret of ordinary words', () => {
  const redactor = knowing('limited', 'dev', 'key', 'dev-key', 'p@ss w"', '7');
  redactor.add('deployment', 'MUSTER_API_KEY');

  it.each([
    'muster check platform --url http://x --limited-key "$MUSTER_LIMITED_KEY" --only platform.scope.limited --seed 7',
    'a limited number of deployments for developers; the key is to try 7 of 17',
    '{"object":"deployment","id":"dpl_7","limit":7,"key_id":"dev"}',
    'GET /devices?limit=7&order_by=key',
    'the limited key: limited-keys are for developers',
  ])('leaves %s as it is', (text) => {
    expect(redactor.text(text)).toBe(text);
  });

  it.each([
    ['Authorization: Bearer limited', 'Authorization: Bearer ***'],
    ["-H 'x-api-key: dev' http://x/dev", "-H 'x-api-key: ***' http://x/dev"],
    ['--limited-key limited --api-key=dev-key', '--limited-key *** --api-key=***'],
    ['{"token":"deployment","note":"deployment"}', '{"token":"***","note":"deployment"}'],
    ['{\\"access_token\\": \\"limited\\"}', '{\\"access_token\\": \\"***\\"}'],
    ['?api_key=p%40ss%20w%22&limit=7', '?api_key=***&limit=7'],
    ['MUSTER_API_KEY=key muster', 'MUSTER_API_KEY=*** muster'],
    ['password: 7', 'password: ***'],
  ])('is masked as the value of a credential: %s', (text, masked) => {
    expect(redactor.text(text)).toBe(masked);
  });

  it('is masked in the fields of a report, and in headers', () => {
    const value = { api_key: 'limited', requirement: 'limited', more: [{ token: 'dev', type: 'dev' }] };
    const shown = { api_key: '***', requirement: 'limited', more: [{ token: '***', type: 'dev' }] };
    expect(redactor.value(value)).toEqual(shown);
    const headers = redactor.headers({ 'X-API-Key': 'limited', accept: 'limited' });
    expect(headers).toEqual({ 'X-API-Key': '***', accept: 'limited' });
    expect(redactor.variable('deployment')).toBe('MUSTER_API_KEY');
  });
});

it('keeps words that equal the beginning of a secret', () => {
  const redactor = knowing('Deployment2026', 'platform-key-9f3');
  const text = 'Deployment of a platform-key, device.deployment; Deployments';
  expect(redactor.text(text)).toBe(text);
  expect(redactor.text('Deployment2026 and platform-key-9f3')).toBe('*** and ***');
});
