/** Content against its schema. JSON Schema is validated by ajv; cue is stored and accepted; opaque accepts anything. */
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parseDocument } from 'yaml';
import type { InstanceFormat } from '../../../harness/contract/platform/config-instance.ts';
import type { PlatformError } from '../ports.ts';
import type { ConfigSchemaRow } from '../store/rows.ts';
import { parseJsonc } from './content.ts';
import { invalid } from './find.ts';

type Validate = ((value: unknown) => boolean) & { errors?: { instancePath: string; message?: string }[] | null };

/** Compiled schemas by digest: thousands of instances are checked against a few schemas. */
const compiled = new Map<string, Validate>();
const KEPT = 200;

/** Refuses documents that are no JSON Schema. */
export function checkSchema(format: string, documents: readonly { name: string; data: string }[]): void {
  compile(format, documents);
}

/** Refuses content that does not parse as its format, or departs from its schema. */
export function checkContent(schema: ConfigSchemaRow, content: { format: InstanceFormat; data: string }): void {
  const value = parseContent(content);
  if (schema.language !== 'jsonschema') return;
  if (content.format === 'xml' || content.format === 'text') {
    throw invalid('invalid_content', `content: ${content.format} cannot be checked against a JSON Schema`);
  }
  let validate = compiled.get(schema.digest);
  if (validate === undefined) {
    validate = compile(schema.format, JSON.parse(schema.documents));
    if (compiled.size >= KEPT) compiled.clear();
    compiled.set(schema.digest, validate);
  }
  let valid: boolean;
  try {
    valid = validate(value);
  } catch {
    throw invalid('invalid_content', 'content is nested too deeply to be checked');
  }
  if (valid) return;
  const problems = (validate.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath || '/'} ${message ?? ''}`,
  );
  throw invalid('invalid_content', `content does not satisfy its schema: ${problems.join('; ')}`, { problems });
}

function compile(format: string, documents: readonly { name: string; data: string }[]): Validate {
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    throw invalid('invalid_schema', 'documents: a JSON Schema is exactly one document');
  }
  const refuse = (why: string): PlatformError => invalid('invalid_schema', `documents: ${document.name}: ${why}`);
  const schema = parse(format === 'yaml' ? 'yaml' : 'json', document.data, refuse);
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
    throw refuse('a JSON Schema is an object or a boolean');
  }
  const dialect = typeof schema === 'object' ? String((schema as Record<string, unknown>)['$schema'] ?? '') : '';
  const options = { strict: false, allErrors: true, logger: false } as const;
  try {
    const ajv = /draft-0[3-7]/.test(dialect)
      ? new Ajv(options)
      : dialect.includes('2019-09')
        ? new Ajv2019(options)
        : new Ajv2020(options);
    formats.default(ajv);
    return ajv.compile(schema) as Validate;
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
}

function parseContent({ format, data }: { format: InstanceFormat; data: string }): unknown {
  if (format === 'xml' || format === 'text') return data;
  return parse(format, data, (why) => invalid('invalid_content', `content: not valid ${format}: ${why}`));
}

function parse(format: 'json' | 'yaml' | 'jsonc', text: string, refuse: (why: string) => PlatformError): unknown {
  try {
    if (format === 'json') return JSON.parse(text);
    if (format === 'jsonc') return parseJsonc(text);
    const document = parseDocument(text, { prettyErrors: true });
    const [problem] = document.errors;
    if (problem !== undefined) throw problem;
    // Bounds how far aliases may multiply.
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    // Throws for a value that contains itself: such a value cannot be validated, nor shown to an older client as JSON.
    JSON.stringify(value);
    return value;
  } catch (error) {
    throw refuse(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  }
}
