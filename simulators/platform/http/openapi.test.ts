/** The served documents are valid OpenAPI, and describe exactly the published operations. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { describe, expect, it } from 'vitest';
import { operationsOf } from '../../../harness/contract/platform/operations.ts';
import { DIALECT_NAMES, DIALECTS, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { startPlatform } from '../testing/client.ts';
import type { OpenApi } from '../testing/document.ts';

describe.for(DIALECTS)('in dialect %s', (dialect) => {
  it.for(SUPPORTED_VERSIONS)('the document of %s is valid and complete', async (version) => {
    await using platform = await startPlatform({ dialect });
    const served = await platform.get(`/openapi/${version}.json`);
    const document = served.body as unknown as OpenApi;

    const validator = new Validator();
    expect(await validator.validate(structuredClone(served.body))).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');

    // The meta-schema of OpenAPI leaves schemas to JSON Schema: every one compiles, every reference leads somewhere.
    const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false, allErrors: true });
    formats.default(ajv);
    const { schemas } = document.components;
    ajv.addVocabulary(['components']).addSchema({ $id: 'doc', components: { schemas } });
    for (const name of Object.keys(schemas)) ajv.compile({ $ref: `doc#/components/schemas/${name}` });
    const references = [...served.text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name);
    expect(references.filter((name) => name === undefined || !(name in schemas))).toEqual([]);
    expect(Object.keys(schemas).filter((name) => !references.includes(name))).toEqual([]);

    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({ path, method, operation })),
    );
    expect(
      new Set(described.map(({ path, method, operation }) => `${operation.operationId} ${method} ${path}`)),
    ).toEqual(new Set(operationsOf(version).map(({ id, method, path }) => `${id} ${method.toLowerCase()} ${path}`)));
    expect(described.length).toBe(operationsOf(version).length);
    for (const { path, operation } of described) {
      const named = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`);
      expect(new Set(named).size).toBe(named.length);
      expect(named).toContain(`header ${DIALECT_NAMES[dialect].versionHeader}`);
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => `path ${name}`);
      expect(named.filter((each) => each.startsWith('path '))).toEqual(inPath);
    }
  });
});
