/**
 * Worker thread of checks: one job at a time, `{job}` in, `{refused}` or `{failed}` out. JSON Schema is checked by ajv;
 * cue is stored and accepted; opaque accepts anything. Schema and content are a user's and may take any time and memory
 * (`pool.ts`).
 */

import { parentPort } from 'node:worker_threads';
import { Ajv } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { parseYaml } from '../../../harness/common/yaml.ts';
import { type CheckJob, type ContentText, parseJsonc, type Refused, type SchemaText } from './job.ts';

type Validate = ((value: unknown) => unknown) & {
  errors?: { instancePath: string; message?: string }[] | null;
  $async?: boolean;
};

/** Compiled schemas by digest: thousands of instances are checked against a few schemas. */
const compiled = new Map<string, Validate>();
const KEPT = 200;

const TOLD = 20;
const LONGEST = 300;

class Refusal extends Error {
  readonly refused: Refused;
  constructor(code: Refused['code'], message: string, problems?: string[]) {
    super(message);
    this.refused = { code, message, ...(problems && { problems }) };
  }
}

/** Undefined if the job is accepted. */
export function check(job: CheckJob): Refused | undefined {
  try {
    if (job.kind === 'schema') compile(job.schema);
    else checkContent(job.content, job.schema);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.refused;
    throw error;
  }
}

function checkContent(content: ContentText, schema: (SchemaText & { digest: string }) | undefined): void {
  const value = parseContent(content);
  if (schema === undefined) return;
  if (content.format === 'xml' || content.format === 'text') {
    throw new Refusal('invalid_content', `content: ${content.format} cannot be checked against a JSON Schema`);
  }
  const validate = compiledOf(schema);
  let valid: unknown;
  try {
    valid = validate(value);
  } catch {
    throw new Refusal('invalid_content', 'content is nested too deeply to be checked');
  }
  if (valid === true) return;
  const found = validate.errors ?? [];
  // The compiled schema would otherwise keep them until the next check.
  validate.errors = null;
  const problems = found
    .slice(0, TOLD)
    .map(({ instancePath, message }) => cut(`${instancePath || '/'} ${message ?? ''}`));
  const more = found.length > TOLD ? `; and ${found.length - TOLD} more` : '';
  throw new Refusal('invalid_content', `content does not satisfy its schema: ${problems.join('; ')}${more}`, problems);
}

function compiledOf(schema: SchemaText & { digest: string }): Validate {
  const known = compiled.get(schema.digest);
  if (known !== undefined) return known;
  const validate = compile(schema);
  if (compiled.size >= KEPT) compiled.clear();
  compiled.set(schema.digest, validate);
  return validate;
}

function compile({ format, documents }: SchemaText): Validate {
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0) {
    throw new Refusal('invalid_schema', 'documents: a JSON Schema is exactly one document');
  }
  const refuse = (why: string): Refusal => new Refusal('invalid_schema', cut(`documents: ${document.name}: ${why}`));
  const schema = parse(format === 'yaml' ? 'yaml' : 'json', document.data, refuse);
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema))) {
    throw refuse('a JSON Schema is an object or a boolean');
  }
  const dialect = typeof schema === 'object' ? String((schema as Record<string, unknown>)['$schema'] ?? '') : '';
  const options = { strict: false, allErrors: true, logger: false } as const;
  let validate: Validate;
  try {
    const ajv = /draft-0[3-7]/.test(dialect)
      ? new Ajv(options)
      : dialect.includes('2019-09')
        ? new Ajv2019(options)
        : new Ajv2020(options);
    formats.default(ajv);
    validate = ajv.compile(schema);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  // An extension of ajv, whose verdict would be a promise.
  if (validate.$async) throw refuse('$async is no keyword of JSON Schema');
  return validate;
}

function parseContent({ format, data }: ContentText): unknown {
  if (format === 'xml' || format === 'text') return data;
  return parse(format, data, (why) => new Refusal('invalid_content', cut(`content: not valid ${format}: ${why}`)));
}

function parse(format: 'json' | 'yaml' | 'jsonc', text: string, refuse: (why: string) => Refusal): unknown {
  try {
    if (format === 'json') return JSON.parse(text);
    if (format === 'jsonc') return parseJsonc(text);
    return parseYaml(text).value;
  } catch (error) {
    throw refuse(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  }
}

const cut = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** Messages of a worker: first that it is up, then one answer for each job. */
export type WorkerMessage = { up: true } | { refused: Refused | undefined } | { failed: string };

const answer = (message: WorkerMessage): void => parentPort?.postMessage(message);

parentPort?.on('message', (job: CheckJob) => {
  try {
    answer({ refused: check(job) });
  } catch (error) {
    answer({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
});
// Warms up before the first job, which would otherwise pay for loading and compiling.
check({ kind: 'schema', schema: { format: 'json', documents: [{ name: '', data: '{}' }] } });
answer({ up: true });
