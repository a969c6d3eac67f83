/** Platform and agent keep their word to each other: `testing/agreement.ts` says what that means. */
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { keepingAgent, listingAgent } from './testing/agents.ts';
import { agreementProperty } from './testing/agreement.ts';
import { startPlatform, type TestPlatform } from './testing/client.ts';
import { createKit, type Kit } from './testing/kit.ts';

let platform: TestPlatform;
let kit: Kit;
beforeAll(async () => {
  platform = await startPlatform();
  kit = await createKit(platform);
});
afterAll(() => platform.stop());

test.for([
  ['acts on what it is told', listingAgent],
  ['keeps all that it was told', keepingAgent],
] as const)('an agent that %s agrees with its platform in the end, whatever happened', async ([, agentOf]) => {
  await fc.assert(agreementProperty({ platform, kit }, agentOf), { numRuns: 40 });
  expect((await platform.items('/deployments')).length).toBeGreaterThan(0);
});
