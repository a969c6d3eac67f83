/** The checks of schemas and content, which run beside the event loop; refusals as errors of the platform. */

import type { CheckJob, ContentText, SchemaText } from '../checking/job.ts';
import { Overrun } from '../checking/pool.ts';
import type { Core } from '../core.ts';
import { PlatformError } from '../ports.ts';
import type { ConfigSchemaRow } from '../store/rows.ts';
import { invalid } from './find.ts';

/** Rejects with PlatformError for documents that are no JSON Schema. */
export const checkSchema = (core: Core, schema: SchemaText): Promise<void> => checked(core, { kind: 'schema', schema });

/** Rejects with PlatformError for content that does not parse as its format, or departs from its schema. */
export function checkContent(core: Core, row: ConfigSchemaRow, content: ContentText): Promise<void> {
  if (row.language !== 'jsonschema') return checked(core, { kind: 'content', content });
  const { digest, format } = row;
  return checked(core, { kind: 'content', content, schema: { digest, format, documents: JSON.parse(row.documents) } });
}

async function checked(core: Core, job: CheckJob): Promise<void> {
  const refused = await core.checks.check(job).catch((error: unknown) => {
    if (!(error instanceof Overrun)) throw error;
    throw new PlatformError(
      422,
      `${job.kind}_not_checked`,
      `${job.kind === 'schema' ? 'documents' : 'content'}: ${error.message}`,
    );
  });
  if (!core.store.database.isOpen) throw new PlatformError(503, 'unavailable', 'the platform is stopping');
  if (refused === undefined) return;
  const { code, message, problems } = refused;
  throw invalid(code, message, problems && { problems });
}
