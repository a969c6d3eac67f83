/** The OpenAPI document of each version, at `/openapi/<version>.json`, which needs no key. */
import type { FastifyInstance } from 'fastify';
import { openApiDocument } from '../../../harness/contract/platform/openapi.ts';
import { DIALECT_NAMES, DIALECTS, type DialectNames, SUPPORTED_VERSIONS } from '../../../harness/contract/versions.ts';
import { PlatformError } from '../ports.ts';

/** Adds the route; each document is written when it is first asked for. */
export function serveDocuments(app: FastifyInstance, names: DialectNames, server: string): void {
  const dialect = DIALECTS.find((each) => DIALECT_NAMES[each] === names) ?? 'spec';
  const documents = new Map<string, string>();
  app.get('/openapi/:file', (request, reply) => {
    const { file } = request.params as { file: string };
    const version = SUPPORTED_VERSIONS.find((each) => file === `${each}.json`);
    if (version === undefined) {
      const accepted = SUPPORTED_VERSIONS.map((each) => `${each}.json`);
      throw new PlatformError(404, 'unknown_version', 'there is no document of that version', { accepted });
    }
    let document = documents.get(version);
    if (document === undefined) {
      document = JSON.stringify(openApiDocument(version, { dialect, server }));
      documents.set(version, document);
    }
    return reply.header('content-type', 'application/json; charset=utf-8').send(document);
  });
}
