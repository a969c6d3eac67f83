/** Writes the published schema of scenario files. After a change of scenario.ts run it, then `npx biome check --write fixtures`. */
import { writeFileSync } from 'node:fs';
import { scenarioJsonSchema } from './scenario.ts';

export const SCHEMA_FILE = new URL('../../../fixtures/scenarios/scenario.schema.json', import.meta.url);

export const schemaText = (): string => `${JSON.stringify(scenarioJsonSchema(), null, 2)}\n`;

if (import.meta.main) writeFileSync(SCHEMA_FILE, schemaText());
