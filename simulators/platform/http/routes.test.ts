import { once } from 'node:events';
import { get } from 'node:https';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { localhostTls } from '../../../harness/common/testing/localhost-tls.ts';
import { operationsOf } from '../../../harness/contract/platform/operations.ts';
import { DIALECTS, NAMES_BY_DIALECT, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { FAULT_FORMS, parseFaults } from '../faults.ts';
import { startPlatform } from '../testing/kit.ts';
import { readJson } from './routes.ts';

const read = (text: string) => readJson(Buffer.from(text));

it('a request body yields the same value as JSON.parse', () => {
  const plain = fc.jsonValue({ maxDepth: 8 }).filter((value) => !JSON.stringify(value).includes('\\ud'));
  fc.assert(
    fc.property(plain, (value) => {
      expect(read(JSON.stringify(value, null, 1))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it.for([
  ['no JSON', '{"name":'],
  ['nothing but space', '  '],
  ['a trailing comma', '{"name":"a",}'],
  ['one name twice', '{"name":"a","name":"b"}'],
  ['one name twice, escaped', '{"name":"a","n\\u0061me":"b"}'],
  ['one name twice, deep', '{"a":[{"b":{"c":1,"d":"}","c":2}}]}'],
  ['half a surrogate pair', '{"name":"\\ud800"}'],
  ['half a surrogate pair as a name', '{"\\udc00":1}'],
  ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
  ['100,000 levels', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
] as const)('a request body is refused when it has %s', ([, text]) => {
  expect(() => read(text)).toThrow(expect.objectContaining({ status: 400, code: 'invalid_json' }));
});

it('a request body may repeat a name in different objects, and nest 64 levels', () => {
  expect(read('[{"a":1},{"a":{"a":":","b":"\\""}}]')).toEqual([{ a: 1 }, { a: { a: ':', b: '"' } }]);
  expect(() => read(`${'['.repeat(64)}${']'.repeat(64)}`)).not.toThrow();
});

it('a request body may hold a million escaped quotes', () => {
  const quotes = `"${'\\"'.repeat(1_000_000)}"`;
  expect(read(quotes)).toHaveLength(1_000_000);
  expect(() => read(quotes.slice(0, -1))).toThrow(/valid JSON/);
});

describe.for(DIALECTS)('in dialect %s', (dialect) => {
  it.for(SUPPORTED_VERSIONS)('the OpenAPI document of %s is valid and complete', async (version) => {
    await using platform = await startPlatform({ dialect });
    const [served = '', beside] = await Promise.all(
      [platform.url, platform.agentUrl].map(async (at) => (await fetch(`${at}/openapi/${version}.json`)).text()),
    );
    expect(beside).toBe(served);
    const { paths, components } = JSON.parse(served) as {
      paths: Record<string, Record<string, { operationId: string; parameters: { name: string; in: string }[] }>>;
      components: { schemas: object };
    };

    const validator = new Validator();
    expect(await validator.validate(JSON.parse(served))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');

    // The meta-schema of OpenAPI ignores embedded schemas.
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
    formats.default(ajv);
    const { schemas } = components;
    ajv.addVocabulary(['components']).addSchema({ $id: 'doc', components: { schemas } });
    for (const name of Object.keys(schemas)) ajv.compile({ $ref: `doc#/components/schemas/${name}` });
    const references = [...served.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(references.filter((name) => name === undefined || !(name in schemas))).toEqual([]);
    expect(Object.keys(schemas).filter((name) => !references.includes(name))).toEqual([]);

    const described = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
    );
    expect(
      new Set(described.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`)),
    ).toEqual(new Set(operationsOf(version).map(({ id, method, path }) => `${id} ${method.toLowerCase()} ${path}`)));
    expect(described.length).toBe(operationsOf(version).length);
    for (const { path, operation } of described) {
      const named = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(named).size).toBe(named.length);
      expect(named).toContain(`header ${NAMES_BY_DIALECT[dialect].versionHeader}`);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`);
      expect(named.filter((each) => each.startsWith('path '))).toEqual(inPath);
    }
  });
});

it('a version that is no longer supported has no OpenAPI document', async () => {
  await using platform = await startPlatform();
  expect((await platform.get('/openapi/2025-10-21.zion.json')).status).toBe(404);
});

it('faults are parsed from text', () => {
  expect(parseFaults('latency=200@0.5')).toEqual({ latency: { milliseconds: 200, rate: 0.5 } });
  expect(parseFaults('429,5xx=502@.1, reset@0 ,slow-body')).toEqual({
    throttle: { retryAfterSeconds: 1, rate: 1 },
    failure: { status: 502, rate: 0.1 },
    reset: { rate: 0 },
    slowBody: { milliseconds: 100, rate: 1 },
  });
});

it.for(['', 'latency', 'latency=x', '5xx=404', 'reset=1', '429@2', '429@-1', 'explode'])('%j is no fault', (text) => {
  expect(() => parseFaults(text)).toThrow(
    new RegExp(`no fault; accepted are ${FAULT_FORMS[0].replace(/[[\]]/g, '\\$&')}`),
  );
});

it('faults hit every request, or the given share', async () => {
  await using throttled = await startPlatform({ faults: parseFaults('429=7') });
  const reply = await throttled.get('/devices');
  expect([reply.status, reply.headers.get('retry-after')]).toEqual([429, '7']);
  await using failing = await startPlatform({ faults: parseFaults('5xx=502@0.5'), seed: 9 });
  const statuses = await Promise.all(Array.from({ length: 60 }, async () => (await failing.get('/devices')).status));
  expect(new Set(statuses)).toEqual(new Set([200, 502]));
});

it('faults reset connections, and delay answers', async () => {
  await using broken = await startPlatform({ faults: parseFaults('reset') });
  await expect(broken.get('/devices')).rejects.toThrow();
  await using overTls = await startPlatform({ faults: parseFaults('reset'), tls: localhostTls });
  const answered = once(get(`${overTls.url}/devices`, { rejectUnauthorized: false }), 'response');
  await expect(answered.then(() => 'an answer')).rejects.toThrow(/ECONNRESET|hang up/);
  await using slow = await startPlatform({ faults: parseFaults('latency=30,slow-body=5'), devices: 12, seed: 1 });
  const start = performance.now();
  const { body } = await slow.get('/devices');
  expect(body['data']).toHaveLength(10);
  expect(performance.now() - start).toBeGreaterThanOrEqual(30);
});

it('faults hit the same requests for the same seed', async () => {
  const run = async (seed: number) => {
    await using platform = await startPlatform({ faults: parseFaults('5xx@0.5'), seed });
    const statuses: number[] = [];
    for (let count = 0; count < 20; count++) statuses.push((await platform.get('/principal')).status);
    return statuses;
  };
  expect(await run(4)).toEqual(await run(4));
  expect(await run(4)).not.toEqual(await run(5));
});
