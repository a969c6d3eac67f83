/** Compares answers with a served OpenAPI document, strictly: what the document does not name must not be there. For tests. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

type Json = Record<string, unknown>;

export interface OpenApi {
  openapi: string;
  paths: Record<string, Record<string, DescribedOperation>>;
  components: { schemas: Record<string, Json>; securitySchemes: Json };
}

export interface DescribedOperation {
  operationId: string;
  parameters: { name: string; in: string; required?: boolean; schema: Json }[];
  requestBody?: { content: Record<string, { schema: Json }> };
  responses: Record<string, { content?: Record<string, { schema: Json }> }>;
}

export class Documented {
  readonly document: OpenApi;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApi) {
    this.document = document;
    formats.default(this.#ajv);
    this.#ajv.addSchema({ $id: 'doc', components: closed(document.components) as Json });
  }

  operation(id: string): DescribedOperation | undefined {
    return Object.values(this.document.paths)
      .flatMap((path) => Object.values(path))
      .find(({ operationId }) => operationId === id);
  }

  /** What is wrong with an answer of that operation; empty when it is as described. */
  problems(id: string, status: number, value: unknown): string[] {
    const responses = this.operation(id)?.responses ?? {};
    const response = responses[String(status)] ?? responses[`${Math.floor(status / 100)}XX`];
    const schema = response?.content?.['application/json']?.schema;
    if (schema === undefined) return [`${id} does not describe ${status}`];
    return this.#check(`${id} ${status}`, schema, value);
  }

  #check(name: string, schema: Json, value: unknown): string[] {
    let validate = this.#compiled.get(name);
    if (validate === undefined) {
      const inDocument = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"doc#/')) as Json;
      validate = this.#ajv.compile(inDocument);
      this.#compiled.set(name, validate);
    }
    if (validate(value)) return [];
    return (validate.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
  }
}

/** The same schemas, with no room for members that they do not name. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const schema = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  const open = schema['type'] === 'object' && schema['properties'] !== undefined && !('additionalProperties' in schema);
  return open ? { ...schema, additionalProperties: false } : schema;
}
