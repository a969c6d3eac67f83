/** Section 9: resources that later versions changed or added. */
import type { HttpResponse } from '../../harness/client/http.ts';
import { isSecretName } from '../../harness/common/redact.ts';
import { instantOf, isIso8601 } from '../../harness/contract/shape.ts';
import { codenamesBefore, codenamesFrom } from '../../harness/contract/versions.ts';
import { Fact } from '../../harness/runner/session.ts';
import { byExploring, ofCodename } from './oracle/checks.ts';
import type { Comparison } from './oracle/differences.ts';
import { type Platform, section } from './support/check.ts';
import { createDevice, requireEndpoint } from './support/create.ts';
import { describeResponse, inVersion, ok, refused, send } from './support/requests.ts';

export const { requirement, check, checks } = section({ level: 'MUST', section: '9', since: '2026-11-21' });

const slug = requirement({
  id: 'platform.config-type.slug',
  clause: '`PATCH /config_types/{config_type_id}` does not accept `slug`; slugs are immutable.',
  text: 'From 2026-08-17.everglades on, PATCH of a config type does not accept slug: no request changes it.',
});
check(...byExploring(slug, { needs: ['write', 'everglades'], makes: 'config_type' }));

const schemaOptions = { needs: ['write', 'everglades'], makes: 'config_schema' } as const;

const isDerived = ({ what, path }: Comparison): boolean => what === 'shape' && path === '/instance_slots';

const slots = requirement({
  id: 'platform.schema.slots',
  clause: 'an omitted `instance_slots` makes the server derive a default filepath instead of reusing a previous one',
  text:
    'From 2026-08-17.everglades on, a config schema names its paths in instance_slots[].filepath; ' +
    'if they are omitted, the server derives one and reuses none. Older versions use instance_filepath.',
});
const { isMeant: isOfEverglades } = ofCodename('everglades');
check(...byExploring(slots, { ...schemaOptions, isMeant: (found) => isOfEverglades(found) && !isDerived(found) }));
check(...byExploring(slots, { ...schemaOptions, aspect: 'derived', isMeant: isDerived }));
for (const codename of codenamesBefore('everglades'))
  check(...byExploring(slots, { ...ofCodename(codename), needs: ['write', codename], makes: 'config_schema' }));

const yaml = requirement({
  id: 'platform.config-instance.yaml',
  clause: '`yaml` content format for config instances',
  text: 'From 2026-05-06.rainier on, config instances may have content of format yaml.',
});
for (const codename of codenamesFrom('rainier'))
  check(...byExploring(yaml, { ...ofCodename(codename), needs: ['write', codename], makes: 'config_instance' }));

const yamlBefore = requirement({
  id: 'platform.config-instance.yaml-before',
  level: 'INFO',
  clause: '`yaml` content format for config instances',
  text: 'The answer of 2026-03-09.tetons to yaml content, which it does not have, is recorded.',
});
check(...byExploring(yamlBefore, { needs: ['write', 'tetons'], least: { requests: 1 }, part: 'yamlBefore' }));

const expand = requirement({
  id: 'platform.device.expand',
  clause: 'devices can expand `current_release` and `current_deployment` via `expand`',
  text:
    'From 2026-05-06.rainier on, devices carry current_release and current_deployment if these are expanded, ' +
    'and only then.',
});
for (const codename of codenamesFrom('rainier'))
  check(
    ...byExploring(expand, {
      ...ofCodename(codename),
      needs: [codename],
      least: { 'expanded deployments': 1 },
      orElse: 'a device with a deployment on it shows more',
    }),
  );

export const archived = requirement({
  id: 'platform.device.archived',
  clause: 'devices report an `archived` status',
  text: 'A client of an older version never sees the device status archived, which is new in 2026-08-17.everglades.',
});
const unarchived = { part: 'end', isFree: 'no device is archived' };
check(...byExploring(archived, { needs: ['everglades', 'tetons', 'rainier'], ...unarchived }));

const groupOptions = { needs: ['write', 'everglades'], makes: 'group' } as const;

const tree = requirement({
  id: 'platform.group.tree',
  clause: "Device groups (create, rename, move; a device's group membership is read-only)",
  text:
    'Groups can be created, renamed, moved and read, and form a tree after any move; ' +
    'a write to a device cannot change its group.',
});
check(...byExploring(tree, { ...groupOptions, least: { moves: 1, renamings: 1 } }));
const isMembership = ({ path, what }: Comparison): boolean =>
  path.endsWith('/group_id') || (what === 'error' && path === '');
check(...byExploring(tree, { ...groupOptions, aspect: 'membership', isMeant: isMembership }));
check(
  ...byExploring(tree, {
    ...groupOptions,
    aspect: 'concurrent',
    premises: [tree.id],
    part: 'groupsAtOnce',
    isFree: 'a group shows no parent_id, or groups were not moved at once',
    isMeant: ({ path }) => path.endsWith(' at once'),
  }),
);

const token = requirement({
  id: 'platform.provisioning-token',
  clause: 'Provisioning tokens replace the activation-token endpoint',
  text:
    'From 2026-05-06.rainier on, the platform issues provisioning tokens, each with its expiry; ' +
    '2026-03-09.tetons has none.',
});
for (const codename of codenamesFrom('rainier'))
  check(token, { needs: ['write', codename], aspect: codename }, async (t: Platform) => {
    const versioned = inVersion(t, codename);
    const isFirst = t.session.get(ISSUED_TOKENS).size === 0;
    await mustIssueToken(versioned);
    if (isFirst) await mustIssueToken(versioned);
  });

check(token, { needs: ['write', 'rainier', 'tetons'], aspect: 'tetons' }, async (t: Platform) => {
  if (t.session.get(ISSUED_TOKENS).size === 0) await mustIssueToken(inVersion(t, 'rainier'));
  const response = await postTo(inVersion(t, 'tetons'), PATH);
  const expected = `POST ${PATH} not to be there in 2026-03-09.tetons`;
  t.should(!ok(response), { expected, actual: `${response.status}` });
});
check(token, { needs: ['write', 'rainier'], aspect: 'replaced' }, async (t: Platform) => {
  const device = await createDevice(t);
  // Path of published platforms, because the specification names none.
  const path = `/devices/${encodeURIComponent(device.id)}/activation_token`;
  const answer = await postTo(inVersion(t, 'rainier'), path);
  const expected = `POST ${path} not to be there in 2026-05-06.rainier, since provisioning tokens replace it`;
  t.should(!ok(answer), { expected, actual: `${answer.status}` });
});

const PATH = '/provisioning_tokens';

/** Tokens of this run; few, because a platform may limit their number. */
const ISSUED_TOKENS = new Fact(() => new Set<string>());

async function postTo(t: Platform, path: string): Promise<HttpResponse> {
  const response = await send(t, { method: 'POST', path, body: {} });
  for (const [name, value] of Object.entries(Object(response.json) as Record<string, unknown>))
    if (isSecretName(name) && typeof value === 'string') t.http.recorder.redactor.add(value);
  return response;
}

/** A refusal only blocks the check, because a platform may require a body or limit tokens. */
async function mustIssueToken(t: Platform): Promise<void> {
  const response = await postTo(t, PATH);
  await requireEndpoint(t, PATH, response);
  if (refused(response) || response.status === 503) {
    t.blocked(`set-up: POST ${PATH} answered ${describeResponse(response)}`);
  }
  t.must(ok(response), { expected: `2xx with a token to POST ${PATH}`, actual: describeResponse(response) });
  const { token, expires_at: expiry } = (response.json ?? {}) as { token?: unknown; expires_at?: unknown };
  const isNamed = typeof token === 'string' && token !== '';
  // Only warns, because the names of both fields come from published platforms.
  t.should(isNamed, { expected: 'a token that is not empty', actual: typeof token });
  const expected = 'an ISO 8601 date-time in expires_at';
  t.should(typeof expiry === 'string' && isIso8601(expiry), { expected, actual: expiry });
  const now = Date.parse(response.headers['date'] ?? '') || Date.now();
  t.should(!(instantOf(String(expiry)) <= now), { expected: 'an expiry in the future', actual: expiry });
  const issued = t.session.get(ISSUED_TOKENS);
  // Only warns, because a platform may repeat a token that is valid.
  t.should(!isNamed || !issued.has(token), { expected: 'a new token each time', actual: 'the same token twice' });
  // Adds the whole answer if the token has another name, because the size of the set shows later checks that one was
  // issued.
  issued.add(isNamed ? token : response.text);
}
