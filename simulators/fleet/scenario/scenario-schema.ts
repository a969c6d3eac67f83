/** Writes the published schema of scenario files. Run after a change of scenario.ts. */
import { writeFileSync } from 'node:fs';
import { scenarioJsonSchema } from './scenario.ts';

/** Where editors find it. */
export const SCHEMA_FILE = new URL('../../../fixtures/scenarios/scenario.schema.json', import.meta.url);

export const schemaText = (): string => `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`;

if (import.meta.main) writeFileSync(SCHEMA_FILE, schemaText());
