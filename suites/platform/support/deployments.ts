/** Deployments to look at: those that are listed, and those that a check creates for devices of its own. */
import { createDevice, mayWrite } from './create.ts';
import { act, createKit, type Kit, tidy, tryDeployment } from './kit.ts';
import { type Item, served } from './lists.ts';
import type { Platform } from './platform.ts';
import { walk } from './walk.ts';

/** The newest and more: enough to see every state, without turning thousands of pages. */
export const PAGES = 10;

export async function listed(t: Platform): Promise<Item[]> {
  const collections = await served(t);
  if (!collections.includes('deployments')) t.notApplicable('the platform lists no deployments');
  return (await walk(t, 'deployments', { limit: 100, pages: PAGES })).items;
}

/** At least one: created when the platform has none and the run may. */
export async function some(t: Platform): Promise<Item[]> {
  const found = await listed(t);
  if (found.length > 0) return found;
  if (!mayWrite(t)) t.notApplicable('the platform has no deployment, and the run may create none');
  const { deployment, answers } = await tryDeployment(t, [await createKit(t)], (await createDevice(t)).id);
  if (deployment === undefined) t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  const again = await listed(t);
  await tidy(t, [deployment]);
  t.must(again.length > 0, { expected: `${deployment.id}, just created, in the list`, actual: 'an empty list' });
  return again;
}

/** A new deployment of a new device, kept in `made`. Blocks the check when the platform refuses. */
export async function deployed(
  t: Platform,
  kits: readonly Kit[],
  made: Set<Item>,
  targets?: readonly ('staged' | 'deployed')[],
): Promise<Item> {
  const { deployment, answers } = await tryDeployment(t, kits, (await createDevice(t)).id, undefined, targets);
  if (deployment === undefined) return t.blocked(`set-up: POST /deployments answered ${answers.join('; ')}`);
  made.add(deployment);
  return deployment;
}

/** Staged where the platform takes that, for what is staged may be archived; archived if it can be. */
export async function archived(t: Platform, kits: readonly Kit[], made: Set<Item>): Promise<Item> {
  const deployment = await deployed(t, kits, made, ['staged', 'deployed']);
  await act(t, deployment.id, 'archive');
  return deployment;
}
