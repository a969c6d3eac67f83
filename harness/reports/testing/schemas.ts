import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { memoryPages, validateXML } from 'xmllint-wasm';

const SCHEMAS = join(import.meta.dirname, '../../../fixtures/schemas');

export function jsonProblems(schema: string, text: string): unknown[] {
  const ajv = addFormats.default(new Ajv2020.default({ strict: false }));
  const validate = ajv.compile(JSON.parse(readFileSync(join(SCHEMAS, schema), 'utf8')));
  validate(JSON.parse(text));
  return validate.errors ?? [];
}

export async function junitProblems(xml: string): Promise<unknown[]> {
  const schema = readFileSync(join(SCHEMAS, 'junit.xsd'), 'utf8');
  const initialMemoryPages = 16 * memoryPages.MiB;
  const file = { fileName: 'junit.xml', contents: xml };
  return (await validateXML({ xml: [file], schema: [schema], initialMemoryPages })).errors.slice();
}
