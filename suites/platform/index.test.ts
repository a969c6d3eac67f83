/** The platform and system suites decide exactly the catalogue of requirements, and declare each one completely. */
import { describe, expect, it } from 'vitest';
import { premiseProblems } from '../../harness/runner/schedule.ts';
import { systemSuite } from '../system/index.ts';
import { platformSuite } from './index.ts';
import { ANY_LIST } from './support/check.ts';

/** Every requirement that follows from the specification, or from a convention that it relies on. */
const CATALOGUE = {
  MUST: `platform.auth.key-required platform.auth.key-wrong platform.auth.scope platform.version.supported
    platform.list.envelope platform.list.items platform.timestamps platform.list.defaults platform.list.clamp.high
    platform.list.clamp.offset platform.list.clamp.low platform.list.clamp.nearest platform.list.clamp.huge platform.list.clamp.nonsense
    platform.list.page-size platform.list.in-range platform.list.has-more platform.list.walk platform.list.beyond-end
    platform.list.total-count platform.ping.success platform.ping.timeout platform.ping.limit platform.deployment.shape
    platform.deployment.merge platform.deployment.parent platform.deployment.created
    platform.deployment.archived-final platform.deployment.timestamps platform.deployment.removing platform.group.tree
    platform.schema.slots platform.config-type.slug platform.config-instance.yaml platform.device.expand
    platform.device.archived platform.provisioning-token
    system.deploy system.replace system.offline system.offline.newest system.ping system.failed`,
  SHOULD: `platform.version.end-of-life platform.version.malformed platform.version.unknown platform.list.stable
    platform.ping.bad-body platform.ping.unknown-device platform.deployment.failed platform.robust.bodies
    platform.deployment.forward-only platform.list.created platform.robust.names
    platform.robust.references platform.robust.routes system.soak`,
  INFO: 'platform.version.omitted platform.list.collections platform.config-instance.yaml-before',
};
const checks = [...platformSuite.checks, ...systemSuite.checks];

describe('the platform and system suites', () => {
  it.for(Object.entries(CATALOGUE))('decide every %s of the catalogue and no other', ([level, ids]) => {
    const declared = checks.filter(({ requirement }) => requirement.level === level);
    expect([...new Set(declared.map(({ requirement }) => requirement.id))].sort()).toEqual(ids.split(/\s+/).sort());
  });

  it('declare each requirement once, even if several checks decide it', () => {
    const byId = new Map(checks.map(({ requirement }) => [requirement.id, requirement]));
    for (const { id, requirement } of checks) expect(byId.get(requirement.id), id).toBe(requirement);
  });

  it('mark every check that needs to write', () => {
    for (const { id, needs, writes } of checks) expect(writes === true, id).toBe(needs?.includes('write') ?? false);
  });

  it('rest on premises that exist, lead nowhere in a circle, and start early enough', () => {
    expect([...premiseProblems(platformSuite.checks), ...premiseProblems(systemSuite.checks)]).toEqual([]);
  });

  it('rest on a list that any collection answers with', () => {
    const [first, ...others] = platformSuite.checks;
    expect(first?.id).toBe(ANY_LIST);
    for (const { id, premises } of others) expect(premises, id).toContain(ANY_LIST);
  });

  it('base every requirement on a section of the specification', () => {
    for (const { requirement } of checks) expect(requirement.section).toMatch(/^[1-9](\.[1-9])?$/);
  });

  it('quote the specification briefly', () => {
    for (const { id, requirement } of checks) {
      expect(requirement.clause?.split(/\s+/).length ?? 0, id).toBeLessThanOrEqual(25);
    }
  });
});
