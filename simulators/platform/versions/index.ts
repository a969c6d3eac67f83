import type { InstanceContent } from '../../../harness/contract/platform/config-instance.ts';
import type { ResourceKind } from '../../../harness/contract/platform/operation.ts';
import { atLeast, codenameOf, type SupportedVersion, versionNamed } from '../../../harness/contract/versions.ts';
import type { PlatformBehaviour, Resource } from '../behaviour.ts';
import { toRainier } from './rainier.ts';
import type { DownStep } from './steps.ts';
import { toTetons } from './tetons.ts';

/** Newest first. */
const STEPS: readonly DownStep[] = [toRainier, toTetons];

const stepsTo = (version: SupportedVersion): DownStep[] =>
  STEPS.filter(({ to }) => atLeast(versionNamed(to), codenameOf(version)));

/** A resource (without expansions) as a client of `version` knows it. */
export function down(
  kind: ResourceKind,
  resource: Resource,
  version: SupportedVersion,
  behaviour: PlatformBehaviour,
): Resource {
  let shown = resource;
  for (const step of stepsTo(version)) {
    const change = step.resources[kind];
    if (change !== undefined && behaviour.downStep(kind, versionNamed(step.to))) shown = change(shown, behaviour);
  }
  return shown;
}

/** The content of a config instance (expanded) as a client of `version` knows it. */
export function contentDown(
  content: InstanceContent,
  version: SupportedVersion,
  behaviour: PlatformBehaviour,
): InstanceContent {
  let shown = content;
  for (const step of stepsTo(version)) {
    if (step.content !== undefined && behaviour.downStep('config_instance', versionNamed(step.to)))
      shown = step.content(shown);
  }
  return shown;
}

/** Translates filter values of an older client to those of the store. */
export function filterUp(
  kind: ResourceKind,
  field: string,
  values: readonly string[],
  version: SupportedVersion,
): readonly string[] {
  let meant = [...values];
  for (const step of stepsTo(version).reverse()) {
    const widen = step.filterValues?.bind(step);
    if (widen !== undefined) meant = meant.flatMap((value) => widen(kind, field, value));
  }
  return meant;
}
