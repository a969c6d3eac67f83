/** Checks schemas and contents within a time limit, because a slow check blocks all other requests. */

import { createRequire } from 'node:module';
import { createContext, Script } from 'node:vm';
import { parseYaml } from '../../harness/common/yaml.ts';
import type { InstanceContent } from '../../harness/contract/platform/config-instance.ts';
import { invalid } from './domain/find.ts';
import { PlatformError } from './ports.ts';
import type { ConfigSchemaRow } from './store/rows.ts';

type SchemaText = Pick<ConfigSchemaRow, 'digest' | 'format'> & { documents: readonly { name: string; data: string }[] };

type Validate = ((value: unknown) => unknown) & {
  errors?: { instancePath: string; message?: string }[] | null;
  $async?: boolean;
};

/** Compiled schemas by digest, because thousands of config instances share a few of them. */
const compiled = new Map<string, Validate>();

const LONGEST_REASON = 300;
const LONGEST_CHECK_MS = 3_000;

export const checkSchema = (schema: SchemaText): void => inTime('documents', () => compiledOf(schema));

export function checkContent({ format, data }: InstanceContent, schema: ConfigSchemaRow): void {
  inTime('content', () => {
    const isOpaque = format === 'xml' || format === 'text';
    const refuse = (why: string) => invalid('invalid_content', cut(`content: not valid ${format}: ${why}`));
    const value = isOpaque ? data : parsed(format, data, refuse);
    if (schema.language !== 'jsonschema') return;
    if (isOpaque) throw invalid('invalid_content', `content: ${format} cannot be checked against a JSON Schema`);
    const validate = compiledOf({ ...schema, documents: JSON.parse(schema.documents) });
    let valid: unknown;
    try {
      valid = validate(value);
    } catch {
      throw invalid('invalid_content', 'content is nested too deeply to be checked');
    }
    if (valid === true) return;
    const problems = (validate.errors ?? []).map(({ instancePath, message }) =>
      cut(`${instancePath || '/'} ${message ?? ''}`),
    );
    // Drops the errors, which the cached validator would keep in memory.
    validate.errors = null;
    throw invalid('invalid_content', `content does not satisfy its schema: ${problems[0] ?? ''}`, { problems });
  });
}

const require = createRequire(import.meta.url);

/** Loads ajv at the first check, to start the platform faster. */
const load = () => ({
  ...(require('ajv') as typeof import('ajv')),
  ...(require('ajv/dist/2019.js') as typeof import('ajv/dist/2019.js')),
  ...(require('ajv/dist/2020.js') as typeof import('ajv/dist/2020.js')),
  addFormats: (require('ajv-formats') as typeof import('ajv-formats')).default,
});

const call = new Script('act()');
let sandbox: { act(): unknown } | undefined;

/**
 * Runs `act` in a VM script, whose timeout interrupts even a regular expression. Repeats a check that got too little
 * processor time.
 */
function inTime(what: 'documents' | 'content', act: () => unknown): void {
  // Loads ajv before the time limit starts, because a timeout would leave ajv half loaded.
  if (sandbox === undefined) load();
  sandbox ??= createContext({ act }) as { act(): unknown };
  sandbox.act = act;
  const begun = process.cpuUsage();
  for (;;) {
    try {
      call.runInContext(sandbox, { timeout: LONGEST_CHECK_MS, displayErrors: false });
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      if (process.cpuUsage(begun).user / 1000 < LONGEST_CHECK_MS / 2) continue;
      const code = what === 'content' ? 'content_not_checked' : 'schema_not_checked';
      throw new PlatformError(422, code, `${what}: the check took longer than ${LONGEST_CHECK_MS / 1000} s`);
    }
  }
}

function compiledOf({ digest, format, documents }: SchemaText): Validate {
  const known = compiled.get(digest);
  if (known !== undefined) return known;
  const [document, ...others] = documents;
  if (document === undefined || others.length > 0)
    throw invalid('invalid_schema', 'documents: a JSON Schema is exactly one document');
  const refuse = (why: string) => invalid('invalid_schema', cut(`documents: ${document.name}: ${why}`));
  const schema = parsed(format === 'yaml' ? 'yaml' : 'json', document.data, refuse);
  if (typeof schema !== 'boolean' && (typeof schema !== 'object' || schema === null || Array.isArray(schema)))
    throw refuse('a JSON Schema is an object or a boolean');
  const dialect = typeof schema === 'object' ? String((schema as Record<string, unknown>)['$schema'] ?? '') : '';
  const options = { strict: false, logger: false } as const;
  const { Ajv, Ajv2019, Ajv2020, addFormats } = load();
  let validate: Validate;
  try {
    const ajv = /draft-0[3-7]/.test(dialect)
      ? new Ajv(options)
      : dialect.includes('2019-09')
        ? new Ajv2019(options)
        : new Ajv2020(options);
    addFormats(ajv);
    validate = ajv.compile(schema);
  } catch (error) {
    throw refuse(error instanceof Error ? error.message : String(error));
  }
  // Refuses `$async`, an extension of ajv that makes the result of a check a promise.
  if (validate.$async) throw refuse('$async is no keyword of JSON Schema');
  if (compiled.size >= 200) compiled.clear();
  compiled.set(digest, validate);
  return validate;
}

function parsed(format: 'json' | 'yaml' | 'jsonc', text: string, refuse: (why: string) => PlatformError): unknown {
  try {
    if (format === 'json') return JSON.parse(text);
    if (format === 'jsonc') return parseJsonc(text);
    return parseYaml(text).value;
  } catch (error) {
    throw refuse(error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error));
  }
}

export function parseJsonc(text: string): unknown {
  // Matches strings too, because a string can contain the start of a comment.
  const stripped = text.replace(/"(?:[^"\\]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (match) =>
    match.startsWith('"') ? match : ' ',
  );
  return JSON.parse(stripped);
}

const cut = (text: string): string => (text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON)}…` : text);
